"""The benchmark: which cases there are (cases), how one is run (servers, client, runs), what comes out (figures,
targets, report). Entry: scripts/bench."""
