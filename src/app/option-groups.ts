import { apiOptions } from '../api/options.ts'
import { consoleOptions } from '../console/options.ts'
import { controllerOptions } from '../controllers/options.ts'
import { cniOptions } from '../node/cni/options.ts'
import { dnsOptions } from '../node/dns/options.ts'
import { ingressOptions } from '../node/ingress/options.ts'
import { nodeOptions } from '../node/options.ts'
import { podsOptions } from '../node/pods/options.ts'
import { policyOptions } from '../node/policy/options.ts'
import { proxyOptions } from '../node/proxy/options.ts'
import { observeOptions } from '../observe/index.ts'
import { declareAppOptions } from './options.ts'

/** The components that each command can run; `run` has those of `server` and `agent`. */
export const partsOf = {
  server: ['api', 'controllers', 'scheduler'],
  agent: ['proxy', 'policy', 'dns', 'ingress', 'registration', 'cni', 'routes', 'pods'],
} as const satisfies Record<string, readonly string[]>

/** Another controller may serve the Ingresses of a cluster that an agent joins. */
const agentParts = partsOf.agent.filter((part) => part !== 'ingress')

/** Declares every option of the program, by owner. */
export const optionGroups = {
  app: declareAppOptions([...partsOf.server, ...partsOf.agent], agentParts),
  api: apiOptions,
  controllers: controllerOptions,
  node: nodeOptions,
  proxy: proxyOptions,
  policy: policyOptions,
  ingress: ingressOptions,
  dns: dnsOptions,
  cni: cniOptions,
  pods: podsOptions,
  console: consoleOptions,
  observe: observeOptions,
}
