import { dnsMetricsPort } from '../../../../model/dns-ports.ts'
import type { Directive } from '../../corefile/blocks.ts'
import { flagOption, readArgs, readOptions } from '../../corefile/values.ts'
import { type EndpointAddress, readEndpointAddress } from '../../corefile/zones.ts'

export interface PrometheusSettings {
  readonly listen: EndpointAddress
}

/** Reads `prometheus [ADDRESS] { runtime_metrics }`. The agent serves the metrics of the process in any case. */
export function readPrometheus(directive: Directive): PrometheusSettings {
  const [address] = readArgs(directive, 0, 1)
  readOptions(directive, {}, { runtime_metrics: flagOption({}) })
  return { listen: readEndpointAddress(address, dnsMetricsPort) }
}
