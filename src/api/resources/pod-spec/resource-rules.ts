import type { Json } from '../../../model/api-object.ts'
import { parseQuantity } from '../../../model/quantity.ts'
import { isQualifiedName } from '../../../model/selector.ts'
import { listAt, objectAt, textAt } from '../../document.ts'
import { type Check, each, fields, required, text } from '../../schema/checks.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  notFoundField,
  requiredField,
} from '../../schema/field-error.ts'
import { qualifiedNameProblems, qualifiedNameRule } from '../../schema/metadata-rules.ts'
import { checkDnsLabel } from '../../schema/names.ts'
import { isNativeResource, objectCounts } from '../resource-names.ts'

const containerResources = ['cpu', 'memory', 'ephemeral-storage']
const otherStandardResources = [
  ...objectCounts,
  'storage',
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'requests.storage',
  'services.nodeports',
  'services.loadbalancers',
]

/** Checks limits, requests and claims of a container; `claimNames` are the Pod's resource claims. */
export function resourceRequirements(claimNames: readonly string[]): Check {
  return (value, path) => [
    ...checkQuantities(objectAt(value, 'limits'), `${path}.limits`),
    ...checkQuantities(objectAt(value, 'requests'), `${path}.requests`),
    ...checkRequestsAgainstLimits(value, path),
    ...checkHugePagesCompany(value, path),
    ...checkClaims(listAt(value, 'claims'), claimNames, `${path}.claims`),
  ]
}

/** Checks amounts of resources by name: `overhead`, `limits`, `requests`. */
export function checkQuantities(
  amounts: Readonly<Record<string, Json | undefined>>,
  path: string,
): readonly FieldError[] {
  return Object.entries(amounts).flatMap(([name, amount]) => [
    ...checkResourceName(name, `${path}[${name}]`),
    ...checkAmount(name, textAt(amount), `${path}[${name}]`),
  ])
}

/** Checks the name of a resource that a container can have. */
export function checkResourceName(name: string, path: string): readonly FieldError[] {
  if (!isQualifiedName(name)) return [invalidField(path, name, qualifiedNameRule)]
  if (name.includes('/')) {
    const isExtended = !name.startsWith('requests.') && isQualifiedName(`requests.${name}`)
    return isNativeResource(name) || isExtended
      ? []
      : [invalidField(path, name, "doesn't follow extended resource name standard")]
  }
  if (containerResources.includes(name) || isHugePages(name)) return []
  const notForContainers = invalidField(path, name, 'must be a standard resource for containers')
  if (otherStandardResources.includes(name)) return [notForContainers]
  return [invalidField(path, name, 'must be a standard resource type or fully qualified'), notForContainers]
}

/** Checks the name of any resource: a standard one, or one with a domain. */
export function checkStandardName(name: string, path: string): readonly FieldError[] {
  const problems = qualifiedNameProblems(name)
  if (problems.length > 0) return problems.map((why) => invalidField(path, name, why))
  const isStandard =
    name.includes('/') ||
    [...containerResources, ...otherStandardResources].includes(name) ||
    /^(requests\.)?hugepages-/.test(name)
  return isStandard ? [] : [invalidField(path, name, 'must be a standard resource type or fully qualified')]
}

function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-')
}

/**
 * Checks whether limits may exceed requests: those of CPU and memory may, those of huge pages and device plugins may
 * not.
 */
export function mayOvercommit(name: string): boolean {
  return isNativeResource(name) && !isHugePages(name)
}

function checkAmount(name: string, amount: string, path: string): readonly FieldError[] {
  const thousandths = parseQuantity(amount || '0')
  if (thousandths < 0n) return [invalidField(path, amount, 'must be greater than or equal to 0')]
  if (!isNativeResource(name) && thousandths % 1000n !== 0n) return [invalidField(path, amount, 'must be an integer')]
  return isHugePages(name) ? checkWholePages(name, thousandths, amount, path) : []
}

function checkWholePages(name: string, thousandths: bigint, amount: string, path: string): readonly FieldError[] {
  const pageText = name.slice('hugepages-'.length)
  const pageSize = /^\d+(\.\d+)?([kKMGTPE]i?)?$/.test(pageText) ? parseQuantity(pageText) : 0n
  if (pageSize > 0n && thousandths % pageSize === 0n) return []
  return [invalidField(path, amount, `${amount} is not positive integer multiple of ${name}`)]
}

function checkRequestsAgainstLimits(value: Json, path: string): readonly FieldError[] {
  const limits = objectAt(value, 'limits')
  return Object.entries(objectAt(value, 'requests')).flatMap(([name, request]) => {
    const limit = limits[name]
    if (limit === undefined)
      return mayOvercommit(name)
        ? []
        : [requiredField(`${path}.limits`, 'Limit must be set for non overcommitable resources')]
    const [requested, allowed] = [parseQuantity(textAt(request) || '0'), parseQuantity(textAt(limit) || '0')]
    if (requested === allowed || (requested < allowed && mayOvercommit(name))) return []
    const rule = mayOvercommit(name) ? 'must be less than or equal to' : 'must be equal to'
    return [invalidField(`${path}.requests`, textAt(request), `${rule} ${name} limit of ${textAt(limit)}`)]
  })
}

function checkHugePagesCompany(value: Json, path: string): readonly FieldError[] {
  const names = [...Object.keys(objectAt(value, 'limits')), ...Object.keys(objectAt(value, 'requests'))]
  const isAlone = names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory')
  return isAlone ? [forbiddenField(path, 'HugePages require cpu or memory')] : []
}

const claimRules = each(required('name'), fields({ request: text(checkDnsLabel) }))

function checkClaims(claims: readonly Json[], claimNames: readonly string[], path: string): readonly FieldError[] {
  const seen = new Set<string>()
  const known = claimNames.length === 0 ? ' which is empty' : `: ${claimNames.join(', ')}`
  return [
    ...claimRules([...claims], path),
    ...claims.flatMap((claim, index) => {
      const [name, request] = [textAt(claim, 'name'), textAt(claim, 'request')]
      const key = request === '' ? name : `${name}/${request}`
      const isRepeated = seen.has(name) || seen.has(key) || !seen.add(key)
      const at = `${path}[${index}]`
      return [
        ...(isRepeated ? [duplicateField(at, key)] : []),
        ...(name !== '' && !claimNames.includes(name)
          ? [notFoundField(at, name, `must be one of the names in pod.spec.resourceClaims${known}`)]
          : []),
      ]
    }),
  ]
}
