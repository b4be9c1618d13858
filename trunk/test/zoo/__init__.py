"""Streams as encoders, cameras and phones send them: deformations of a clip, sent by each protocol and judged at each output.

`python -m zoo -h` with trunk/test/ and trunk/test/e2e/support/ in PYTHONPATH, or `make zoo`. units.py is the model of a clip, clips.py makes
and reads clips, deformations.py deforms them, senders.py and readers.py are the inputs and outputs, judge.py says whether a cell is right.
"""
