# Runs the suite's wstest so that it listens on 127.0.0.1 only; by itself it listens on all
# interfaces. Takes the arguments of wstest. Python 2.7, like the suite.

from twisted.internet.tcp import Port

start_anywhere = Port.startListening


def start_on_loopback(self):
    self.interface = '127.0.0.1'
    start_anywhere(self)


Port.startListening = start_on_loopback

from autobahntestsuite.wstest import run  # noqa: it listens by the changed class

run()
