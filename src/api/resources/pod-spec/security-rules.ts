import type { Json } from '../../../model/api-object.ts'
import { listAt, objectAt, textAt } from '../../document.ts'
import { between, type Check, each, fields, oneOf, required, unique } from '../../schema/checks.ts'
import { type FieldError, invalidField, requiredField, unsupportedField } from '../../schema/field-error.ts'
import { descendingPath } from './path-rules.ts'

const id = between(0, 2_147_483_647, 'must be between 0 and 2147483647, inclusive')
const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined']

const seccompProfile = profile('seccompProfile', 'seccomp', descendingPath)
const appArmorProfile = profile('appArmorProfile', 'AppArmor', (name) =>
  name === name.trim() ? undefined : 'must not be padded with whitespace',
)

/** Checks a profile by its type; only a profile from a file of the node has a name. */
function profile(field: string, system: string, checkName: (name: string) => string | undefined): Check {
  return (value, path) => {
    const [type, name] = [textAt(value, 'type'), objectAt(value)['localhostProfile']]
    const at = `${path}.localhostProfile`
    if (type === '') return [requiredField(`${path}.type`, `type is required when ${field} is set`)]
    if (!profileTypes.includes(type)) return [unsupportedField(`${path}.type`, type, profileTypes)]
    if (type !== 'Localhost')
      return name === undefined || name === null
        ? []
        : [invalidField(at, name, `can only be set when ${system} type is Localhost`)]
    if (textAt(name) === '') return [requiredField(at, `must be set when ${system} type is Localhost`)]
    const why = checkName(textAt(name))
    return why === undefined ? [] : [invalidField(at, name, why)]
  }
}

const identity = { runAsUser: id, runAsGroup: id, seccompProfile, appArmorProfile }

/** Checks `securityContext` of a container. */
export function containerSecurity(usesHostUsers: boolean): Check[] {
  return [
    fields({ ...identity, procMount: oneOf('Default', 'Unmasked') }),
    (value, path) =>
      usesHostUsers && textAt(value, 'procMount') === 'Unmasked'
        ? [invalidField(`${path}.procMount`, 'Unmasked', '`hostUsers` must be false to use `Unmasked`')]
        : [],
    withoutContradiction,
  ]
}

/** Checks that a container does not both gain privileges and forbid that. */
function withoutContradiction(value: Json, path: string): readonly FieldError[] {
  if (textAt(value, 'allowPrivilegeEscalation') !== 'false') return []
  const problem = (what: string) =>
    invalidField(path, value, `cannot set \`allowPrivilegeEscalation\` to false and ${what}`)
  return [
    ...(textAt(value, 'privileged') === 'true' ? [problem('`privileged` to true')] : []),
    ...(listAt(value, 'capabilities', 'add').includes('CAP_SYS_ADMIN')
      ? [problem('`capabilities.Add` CAP_SYS_ADMIN')]
      : []),
  ]
}

const sysctlRule =
  'must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$'
const netSysctls = /^net[./]/
const ipcSysctls = /^(kernel[./](shm|msg|sem)|fs[./]mqueue[./])/

/** Checks `securityContext` of a Pod; the host namespaces that the Pod shares decide which sysctls are allowed. */
export function podSecurity(spec: Json): Check[] {
  const sharesHost = (field: string) => textAt(spec, field) === 'true'
  const sysctl: Check = (value, path) => {
    const name = textAt(value, 'name')
    const isName =
      name.length <= 253 && /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/.test(name)
    const at = `${path}.name`
    return [
      ...(name === '' || isName ? [] : [invalidField(at, name, sysctlRule)]),
      ...(sharesHost('hostNetwork') && netSysctls.test(name)
        ? [invalidField(at, name, "may not be specified when 'hostNetwork' is true")]
        : []),
      ...(sharesHost('hostIPC') && ipcSysctls.test(name)
        ? [invalidField(at, name, "may not be specified when 'hostIPC' is true")]
        : []),
    ]
  }
  return [
    fields({
      ...identity,
      fsGroup: id,
      supplementalGroups: each(id),
      fsGroupChangePolicy: oneOf('Always', 'OnRootMismatch'),
      supplementalGroupsPolicy: oneOf('Merge', 'Strict'),
      seLinuxChangePolicy: oneOf('MountOption', 'Recursive'),
      sysctls: [each(required('name'), sysctl), unique('name')],
    }),
  ]
}
