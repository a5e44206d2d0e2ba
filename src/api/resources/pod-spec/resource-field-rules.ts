import { parseQuantity } from '../../../model/quantity.ts'
import { textAt } from '../../document.ts'
import type { Check } from '../../schema/checks.ts'
import { type FieldError, invalidField, requiredField, unsupportedField } from '../../schema/field-error.ts'

const resourceFields = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
]
const byteUnits = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei']

/** Checks a reference to a limit or request; a volume names the container, a container means itself. */
export function resourceFieldRef(place: 'container' | 'volume'): Check {
  return (value, path) => {
    const resource = textAt(value, 'resource')
    return [
      ...checkResource(resource, textAt(value, 'containerName'), place, path),
      ...checkDivisor(value, resource, path),
    ]
  }
}

function checkResource(resource: string, container: string, place: string, path: string): readonly FieldError[] {
  if (place === 'volume' && container === '') return [requiredField(`${path}.containerName`)]
  if (resource === '') return [requiredField(`${path}.resource`)]
  if (resourceFields.includes(resource) || /^(limits|requests)\.hugepages-/.test(resource)) return []
  return [unsupportedField(`${path}.resource`, resource, resourceFields)]
}

function checkDivisor(value: Parameters<Check>[0], resource: string, path: string): readonly FieldError[] {
  const divisor = textAt(value, 'divisor')
  if (divisor === '' || parseQuantity(divisor) === 0n) return []
  const isCpu = resource.endsWith('.cpu')
  if ((isCpu ? ['1m', '1'] : byteUnits).some((unit) => parseQuantity(unit) === parseQuantity(divisor))) return []
  const kind = /\.(hugepages|memory)/.exec(resource)?.[1] ?? 'local ephemeral storage'
  const why = isCpu
    ? "only divisor's values 1m and 1 are supported with the cpu resource"
    : `only divisor's values ${byteUnits.join(', ')} are supported with the ${kind} resource`
  return [invalidField(`${path}.divisor`, resource, why)]
}
