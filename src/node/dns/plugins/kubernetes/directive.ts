import { type LabelSelector, parseLabelSelector } from '../../../../model/selector.ts'
import type { Directive } from '../../corefile/blocks.ts'
import { CorefileError } from '../../corefile/errors.ts'
import {
  flagOption,
  type ListOption,
  locationOf,
  type OptionReaders,
  readArg,
  readArgs,
  readChoice,
  readDuration,
  readInteger,
  readManyArgs,
  readNumber,
  readOptions,
} from '../../corefile/values.ts'
import type { ServerKey } from '../../corefile/zones.ts'
import { readFallthrough, zonesOr } from '../../corefile/zones.ts'
import { isReverse } from '../../wire/reverse-name.ts'
import type { PodRecords } from '../../zone/settings.ts'
import type { KubernetesSettings } from './settings.ts'

const defaultTtl = 5
const maxTtl = 3600
const podModes: readonly PodRecords[] = ['disabled', 'insecure', 'verified']

type KubernetesOptions = Omit<KubernetesSettings, 'zones'>

const defaults: KubernetesOptions = {
  ttl: defaultTtl,
  pods: 'disabled',
  endpointPodNames: false,
  useEndpoints: true,
  ignoreEmptyServices: false,
  namespaces: [],
  fallthrough: undefined,
  ignored: [],
}

const options: OptionReaders<KubernetesOptions> = {
  endpoint_pod_names: flagOption({ endpointPodNames: true }),
  fallthrough: (option) => ({ fallthrough: readFallthrough(option.args) }),
  ignore: (option) => {
    readChoice(readArg(option), ['empty_service'])
    return { ignoreEmptyServices: true }
  },
  labels: (option) => ({ labels: readSelector(option) }),
  multicluster: ({ name }) => {
    const message = 'kubernetes: multicluster: ServiceImports of other clusters are not served'
    throw new CorefileError('unknown-option', name, message)
  },
  namespace_labels: (option) => ({ namespaceLabels: readSelector(option) }),
  namespaces: { list: 'namespaces', read: (option) => readManyArgs(option).map(({ text }) => text) },
  noendpoints: flagOption({ useEndpoints: false }),
  pods: (option) => ({ pods: readChoice(readArg(option), podModes) }),
  ttl: (option) => ({ ttl: readInteger(readArg(option), { max: maxTtl }) }),
  // Checked and without effect: the agent has its own settings for them.
  apiserver_burst: ignoring((option) => readInteger(readArg(option))),
  apiserver_max_inflight: ignoring((option) => readInteger(readArg(option))),
  apiserver_qps: ignoring((option) => readNumber(readArg(option))),
  endpoint: ignoring(readManyArgs),
  kubeconfig: ignoring((option) => readArgs(option, 1, 2)),
  startup_timeout: ignoring((option) => readDuration(readArg(option))),
  tls: ignoring((option) => readArgs(option, 3)),
}

/**
 * Reads `kubernetes [ZONES…] { … }`. Options for reaching the API (`endpoint`, `tls`, `kubeconfig`, request limits) and for waiting for it are
 * checked and have no effect, because the agent has its own connection.
 */
export function readKubernetes(directive: Directive, keys: readonly ServerKey[]): KubernetesSettings {
  const zones = zonesOr(directive.args, keys)
  const settings = readOptions(directive, defaults, options)
  if (zones.every(isReverse)) {
    throw new CorefileError('bad-value', directive.name, 'kubernetes: expected a zone that is not for reverse names')
  }
  if (settings.namespaces.length > 0 && settings.namespaceLabels !== undefined) {
    throw new CorefileError(
      'conflict',
      directive.name,
      'kubernetes: namespaces and namespace_labels exclude each other',
    )
  }
  return { zones, ...settings }
}

function ignoring(check: (option: Directive) => unknown): ListOption<KubernetesOptions> {
  const read = (option: Directive) => {
    check(option)
    return [{ name: option.name.text, location: locationOf(option.name) }]
  }
  return { list: 'ignored', read }
}

/** Reads a selector in the form of `kubectl -l`; blanks in it split it into words. */
function readSelector(option: Directive): LabelSelector {
  const text = readManyArgs(option)
    .map((token) => token.text)
    .join(' ')
  try {
    return parseLabelSelector(text)
  } catch (cause) {
    throw new CorefileError('bad-value', option.name, `${text}: expected a label selector`, { cause })
  }
}
