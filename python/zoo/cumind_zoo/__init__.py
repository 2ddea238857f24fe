"""The trained agents of cumind, which finds them here: `pip install 'cumind[zoo]'`, then `cumind play --run zoo:connect4`, or
`cumind.load("zoo:connect4")`. Each is a folder of a run; there is nothing to call."""
