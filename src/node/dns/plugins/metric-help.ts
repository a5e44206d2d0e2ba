import { cacheHelp } from './cache/metrics.ts'
import { forwardHelp } from './forward/metrics.ts'
import { healthHelp } from './health/metrics.ts'
import { hostsHelp } from './hosts/metrics.ts'
import { kubernetesHelp } from './kubernetes/metrics.ts'
import { loopHelp } from './loop/metrics.ts'
import { requestHelp } from './prometheus/metrics.ts'
import { reloadHelp } from './reload/metrics.ts'
import { templateHelp } from './template/metrics.ts'

/** The help text of each plugin's metrics. */
export const pluginHelp: Readonly<Record<string, string>> = {
  ...cacheHelp,
  ...forwardHelp,
  ...healthHelp,
  ...hostsHelp,
  ...kubernetesHelp,
  ...loopHelp,
  ...reloadHelp,
  ...requestHelp,
  ...templateHelp,
}
