export { clusterCharts, nodeCharts } from './charts.ts'
export { type Console, createConsole } from './console.ts'
export { explainInCluster } from './explain-in-cluster.ts'
export type { ConsoleAnswer, ConsoleSource, LiveSource } from './source.ts'
