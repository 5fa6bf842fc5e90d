# The suite's wstest, except that whatever it listens on is on 127.0.0.1 alone. By itself it listens on every interface.
# Takes wstest's own arguments. Python 2.7, as the suite.

import os
import sys

import autobahntestsuite

# wstest puts its own folder on the path, and chooses the reactor before anything else of Twisted is imported. So do we.
sys.path.insert(0, os.path.dirname(autobahntestsuite.__file__))
from autobahntestsuite import choosereactor  # noqa
from twisted.internet import reactor

listen_anywhere = reactor.listenTCP


def listen_on_loopback(port, factory, backlog=50, interface=''):
    return listen_anywhere(port, factory, backlog, interface='127.0.0.1')


reactor.listenTCP = listen_on_loopback

from autobahntestsuite.wstest import run  # noqa: it takes the reactor as we have left it

run()
