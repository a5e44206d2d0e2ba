import type { Json, JsonObject } from '../../model/api-object.ts'
import { CniError } from './errors.ts'
import type { CniSandbox } from './types.ts'

/** Rules of libcni for names, which become parts of file names and of `K=V;K=V`. */
const shapes: readonly { readonly field: keyof CniSandbox; readonly pattern: RegExp; readonly expected: string }[] = [
  {
    field: 'containerId',
    pattern: /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/,
    expected: 'letters, digits, "_", "." and "-"',
  },
  { field: 'ifName', pattern: /^(?!\.\.?$)[^/:\s\0]{1,15}$/, expected: 'an interface name of at most 15 characters' },
  { field: 'netnsPath', pattern: /^\/[^\0\n]+$/, expected: 'an absolute path' },
  { field: 'podNamespace', pattern: /^[A-Za-z0-9_.-]+$/, expected: 'a name' },
  { field: 'podName', pattern: /^[A-Za-z0-9_.-]+$/, expected: 'a name' },
  { field: 'podUid', pattern: /^[A-Za-z0-9_.-]*$/, expected: 'a UID' },
]

/** Validates a sandbox. Throws CniError `invalid-sandbox` that names the field. */
export function checkSandbox(sandbox: CniSandbox): void {
  for (const { field, pattern, expected } of shapes) {
    const value = sandbox[field]
    if (typeof value === 'string' && pattern.test(value)) continue
    throw new CniError('invalid-sandbox', `${field}: expected ${expected}, found ${JSON.stringify(value)}`, {
      object: `pod ${sandbox.podNamespace}/${sandbox.podName}`,
    })
  }
}

/** Builds the pairs of CNI_ARGS. Without IgnoreUnknown the reference plugins refuse unknown keys. */
export function cniArguments(sandbox: CniSandbox): readonly (readonly [string, string])[] {
  return [
    ['IgnoreUnknown', '1'],
    ['K8S_POD_NAMESPACE', sandbox.podNamespace],
    ['K8S_POD_NAME', sandbox.podName],
    ['K8S_POD_INFRA_CONTAINER_ID', sandbox.containerId],
    ['K8S_POD_UID', sandbox.podUid],
  ]
}

/** Builds the values for `capabilities`, under the names of the CNI project's "Extension conventions". */
export function capabilityArguments(sandbox: CniSandbox): JsonObject {
  const { portMappings, bandwidth, ipRanges, ips, mac, dns, aliases } = sandbox
  const all = { portMappings, bandwidth, ipRanges, ips, mac, dns, aliases }
  // A round trip through JSON drops absent fields, so that the cache holds exactly what plugins received.
  return JSON.parse(JSON.stringify(all))
}

/** Selects the values that one plugin declares and the sandbox provides. Undefined if there are none. */
export function runtimeConfig(capabilities: readonly string[], provided: JsonObject): JsonObject | undefined {
  const wanted = capabilities.flatMap((name): [string, Json][] => {
    const value = provided[name]
    return value === undefined ? [] : [[name, value]]
  })
  return wanted.length === 0 ? undefined : Object.fromEntries(wanted)
}
