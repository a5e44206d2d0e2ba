import { isReverse } from '../../zone/names.ts'
import type { PodRecords } from '../../zone/settings.ts'
import type { Directive } from '../blocks.ts'
import { CorefileError } from '../errors.ts'
import type { Fallthrough, KubernetesSettings, ServerKey } from '../settings.ts'
import { readArg, readArgs, readChoice, readDuration, readInteger, readOptions } from '../values.ts'
import { readFallthrough, zonesOr } from '../zones.ts'

const defaultTtl = 5
const maxTtl = 3600
const defaultStartupMs = 5000
const podModes: readonly PodRecords[] = ['disabled', 'insecure', 'verified']
const many = Number.POSITIVE_INFINITY

/**
 * `kubernetes [ZONES…] { … }`. How to reach the API (`endpoint`, `tls`, `kubeconfig`, the limits on requests) is checked and then
 * left to the agent, which has its own connection.
 */
export function readKubernetes(directive: Directive, keys: readonly ServerKey[]): KubernetesSettings {
  const settings = {
    zones: zonesOr(directive.args, keys),
    ttl: defaultTtl,
    pods: 'disabled' as PodRecords,
    endpointPodNames: false,
    useEndpoints: true,
    ignoreEmptyServices: false,
    namespaces: [] as string[],
    fallthrough: undefined as Fallthrough,
    startupTimeoutMs: defaultStartupMs,
  }
  readOptions(directive, {
    ttl: (option) => {
      settings.ttl = readInteger(readArg(option), { max: maxTtl })
    },
    pods: (option) => {
      settings.pods = readChoice(readArg(option), podModes)
    },
    endpoint_pod_names: (option) => {
      readArgs(option, 0)
      settings.endpointPodNames = true
    },
    noendpoints: (option) => {
      readArgs(option, 0)
      settings.useEndpoints = false
    },
    ignore: (option) => {
      readChoice(readArg(option), ['empty_service'])
      settings.ignoreEmptyServices = true
    },
    namespaces: (option) => settings.namespaces.push(...readArgs(option, 1, many).map(({ text }) => text)),
    fallthrough: (option) => {
      settings.fallthrough = readFallthrough(option.args)
    },
    startup_timeout: (option) => {
      settings.startupTimeoutMs = readDuration(readArg(option))
    },
    ...connectionOptions,
  })
  if (settings.zones.every(isReverse)) {
    throw new CorefileError('bad-value', directive.name, 'kubernetes: expected a zone that is not for reverse names')
  }
  return settings
}

const connectionOptions: Readonly<Record<string, (option: Directive) => void>> = {
  endpoint: (option) => void readArgs(option, 1, many),
  tls: (option) => void readArgs(option, 3),
  kubeconfig: (option) => void readArgs(option, 1, 2),
  apiserver_qps: (option) => void readInteger(readArg(option)),
  apiserver_burst: (option) => void readInteger(readArg(option)),
  apiserver_max_inflight: (option) => void readInteger(readArg(option)),
}
