import { apiMetrics } from '../api/metrics.ts'
import { webhookMetrics } from '../api/webhooks/metrics.ts'
import { clientMetrics } from '../client/index.ts'
import { autoscalerMetrics } from '../controllers/runtime/autoscaler-metrics.ts'
import { controllerMetrics, schedulerMetrics } from '../controllers/runtime/metrics.ts'
import { cniMetrics } from '../node/cni/metrics.ts'
import { dnsMetrics } from '../node/dns/configuration/metrics.ts'
import { ingressMetrics } from '../node/ingress/metrics.ts'
import { podsMetrics } from '../node/pods/metrics.ts'
import { policyMetrics } from '../node/policy/metrics.ts'
import { collectedMetrics, conntrackMetrics, syncMetrics } from '../node/proxy/metric-specs.ts'
import { routesMetrics } from '../node/routes/metrics.ts'
import { rulesMetrics } from '../node/rules/metrics.ts'
import { buildMetric, type MetricGroup, processMetrics, tracingMetrics } from '../observe/index.ts'

const { leftOut, ...requests } = clientMetrics

/** The endpoints that serve metrics. */
export const endpoints = {
  api: 'API server, HTTPS 6443',
  managers: 'controller manager, HTTP 8080, and scheduler, HTTP 8081',
  agent: 'agent, HTTPS 10250',
  dns: 'DNS, HTTP 9153',
} as const

/** Every metric of the program, by the endpoint that serves it and by owner. */
export const metricGroups: readonly MetricGroup[] = [
  {
    title: 'API server',
    endpoint: endpoints.api,
    specs: [...Object.values(apiMetrics), ...Object.values(webhookMetrics)],
  },
  {
    title: 'Controller manager and scheduler',
    endpoint: endpoints.managers,
    specs: [controllerMetrics, autoscalerMetrics, schedulerMetrics, requests].flatMap((specs) => Object.values(specs)),
  },
  { title: 'Requests of the agent', endpoint: endpoints.agent, specs: [...Object.values(requests), leftOut] },
  {
    title: 'Service proxy',
    endpoint: endpoints.agent,
    specs: [syncMetrics, conntrackMetrics, collectedMetrics, rulesMetrics].flatMap((specs) => Object.values(specs)),
  },
  { title: 'NetworkPolicies', endpoint: endpoints.agent, specs: Object.values(policyMetrics) },
  { title: 'Ingress', endpoint: endpoints.agent, specs: Object.values(ingressMetrics) },
  {
    title: 'Pods and their networks',
    endpoint: endpoints.agent,
    specs: [podsMetrics, cniMetrics, routesMetrics].flatMap((specs) => Object.values(specs)),
  },
  { title: 'DNS', endpoint: endpoints.dns, specs: dnsMetrics },
  { title: 'The build', endpoint: `${endpoints.api}; ${endpoints.agent}`, specs: [buildMetric] },
  {
    title: 'Tracing, where it is on',
    endpoint: `${endpoints.api}; ${endpoints.agent}`,
    specs: Object.values(tracingMetrics),
  },
  {
    title: 'The process',
    endpoint: 'every endpoint; 9153 has those that begin with `process_`',
    specs: processMetrics,
  },
]
