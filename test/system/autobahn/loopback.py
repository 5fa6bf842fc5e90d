# Runs the suite's wstest so that it listens on 127.0.0.1 only; by itself it listens on all
# interfaces. Takes the arguments of wstest. Python 2.7, like the suite.

import os
import sys

import autobahntestsuite

# As wstest does: its folder is in the path, and the reactor is chosen before the rest of Twisted is
# imported.
sys.path.insert(0, os.path.dirname(autobahntestsuite.__file__))
from autobahntestsuite import choosereactor  # noqa
from twisted.internet import reactor

listen_anywhere = reactor.listenTCP


def listen_on_loopback(port, factory, backlog=50, interface=''):
    return listen_anywhere(port, factory, backlog, interface='127.0.0.1')


reactor.listenTCP = listen_on_loopback

from autobahntestsuite.wstest import run  # noqa: it uses the changed reactor

run()
