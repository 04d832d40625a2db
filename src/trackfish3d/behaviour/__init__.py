"""From trajectories to behaviour: kinematics, collective measures, abnormal animals."""
