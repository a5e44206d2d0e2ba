import { type LabelSelector, parseLabelSelector } from '../../../../model/selector.ts'
import type { Directive } from '../../corefile/blocks.ts'
import { CorefileError } from '../../corefile/errors.ts'
import type { Fallthrough } from '../../corefile/fallthrough.ts'
import {
  locationOf,
  readArg,
  readArgs,
  readChoice,
  readDuration,
  readInteger,
  readNumber,
  readOptions,
} from '../../corefile/values.ts'
import type { ServerKey } from '../../corefile/zones.ts'
import { readFallthrough, zonesOr } from '../../corefile/zones.ts'
import { isReverse } from '../../wire/reverse-name.ts'
import type { PodRecords } from '../../zone/settings.ts'
import type { KubernetesSettings, LocatedOption } from './settings.ts'

const defaultTtl = 5
const maxTtl = 3600
const podModes: readonly PodRecords[] = ['disabled', 'insecure', 'verified']
const many = Number.POSITIVE_INFINITY

/**
 * Reads `kubernetes [ZONES…] { … }`. Options for reaching the API (`endpoint`, `tls`, `kubeconfig`, request limits) and for waiting for it are
 * checked and have no effect, because the agent has its own connection.
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
    ignored: [] as LocatedOption[],
  }
  const choice: { labels?: LabelSelector; namespaceLabels?: LabelSelector } = {}
  readOptions(directive, {
    labels: (option) => {
      choice.labels = readSelector(option)
    },
    namespace_labels: (option) => {
      choice.namespaceLabels = readSelector(option)
    },
    multicluster: ({ name }) => {
      throw new CorefileError(
        'unknown-option',
        name,
        'kubernetes: multicluster: ServiceImports of other clusters are not served',
      )
    },
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
    ...ignoringReaders(settings.ignored),
  })
  if (settings.zones.every(isReverse)) {
    throw new CorefileError('bad-value', directive.name, 'kubernetes: expected a zone that is not for reverse names')
  }
  if (settings.namespaces.length > 0 && choice.namespaceLabels !== undefined) {
    throw new CorefileError(
      'conflict',
      directive.name,
      'kubernetes: namespaces and namespace_labels exclude each other',
    )
  }
  return { ...settings, ...choice }
}

/** Reads a selector in the form of `kubectl -l`; blanks in it split it into words. */
function readSelector(option: Directive): LabelSelector {
  const text = readArgs(option, 1, many)
    .map((token) => token.text)
    .join(' ')
  try {
    return parseLabelSelector(text)
  } catch (cause) {
    throw new CorefileError('bad-value', option.name, `${text}: expected a label selector`, { cause })
  }
}

/** The options that are checked and have no effect: the agent has its own settings for them. */
const ignoredOptions: Readonly<Record<string, (option: Directive) => unknown>> = {
  endpoint: (option) => readArgs(option, 1, many),
  tls: (option) => readArgs(option, 3),
  kubeconfig: (option) => readArgs(option, 1, 2),
  apiserver_qps: (option) => readNumber(readArg(option)),
  apiserver_burst: (option) => readInteger(readArg(option)),
  apiserver_max_inflight: (option) => readInteger(readArg(option)),
  startup_timeout: (option) => readDuration(readArg(option)),
}

function ignoringReaders(ignored: LocatedOption[]): Record<string, (option: Directive) => void> {
  const entries = Object.entries(ignoredOptions).map(([name, check]) => {
    const read = (option: Directive) => {
      check(option)
      ignored.push({ name, location: locationOf(option.name) })
    }
    return [name, read] as const
  })
  return Object.fromEntries(entries)
}
