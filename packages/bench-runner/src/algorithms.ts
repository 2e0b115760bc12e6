import { BatchDvfsPolicy, DirectCapPolicy, MorakPolicy, PowerCapOnlyPolicy } from '@pctodl/baselines'
