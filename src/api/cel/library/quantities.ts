import { parseType } from '../values/types.ts'
import { CelError, OpaqueValue, type Value } from '../values/values.ts'
import type { CelFunction } from './declarations.ts'

/** The number of decimal digits that a quantity keeps: it is stored in billionths. */
const scale = 9
const unit = 10n ** BigInt(scale)

/** A Kubernetes quantity, in billionths. */
class QuantityValue extends OpaqueValue {
  readonly type = parseType('kubernetes.Quantity')
  readonly billionths: bigint

  constructor(billionths: bigint) {
    super()
    this.billionths = billionths
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof QuantityValue && other.billionths === this.billionths
  }
}

const quantityText = /^([+-]?)(\d{0,30})(?:\.(\d{0,30}))?(?:([eE])([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i))?$/
const decimalPowers: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

function readQuantity(text: string): QuantityValue | undefined {
  const [, sign, whole = '', fraction = '', , exponent = '0', suffix = ''] = quantityText.exec(text) ?? []
  if (sign === undefined || text === '') return undefined
  const power = Number(exponent) + (decimalPowers[suffix] ?? 0) - fraction.length + scale
  const value = BigInt(whole + fraction) * 1024n ** BigInt(Math.max(0, binarySuffixes.indexOf(suffix)))
  const scaled = power >= 0 ? value * 10n ** BigInt(power) : roundUp(value, 10n ** BigInt(-power))
  return new QuantityValue(sign === '-' ? -scaled : scaled)
}

function roundUp(value: bigint, divisor: bigint): bigint {
  return (value + divisor - 1n) / divisor
}

/** Matches the form of a quantity, with any combination of suffix characters. */
const shape = /^(?!$)[+-]?\d*(?:\.\d*)?[eEinumkKMGTP]*[-+]?\d*$/

function toQuantity(text: string): Value {
  const quantity = readQuantity(text)
  if (quantity !== undefined) return quantity
  if (shape.test(text)) return new CelError("unable to parse quantity's suffix")
  return new CelError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
}

const isWhole = ({ billionths }: QuantityValue) => billionths % unit === 0n && inInt64(billionths / unit)
const inInt64 = (value: bigint) => BigInt.asIntN(64, value) === value

function compare({ billionths: left }: QuantityValue, { billionths: right }: QuantityValue): bigint {
  if (left === right) return 0n
  return left < right ? -1n : 1n
}

/** The quantity library of Kubernetes. */
export const quantityFunctions: readonly CelFunction[] = [
  ['quantity(string): kubernetes.Quantity', toQuantity],
  ['isQuantity(string): bool', (text: string) => readQuantity(text) !== undefined],
  ['sign(kubernetes.Quantity): int', (quantity: QuantityValue) => compare(quantity, new QuantityValue(0n))],
  ['kubernetes.Quantity.isInteger(): bool', isWhole],
  [
    'kubernetes.Quantity.asInteger(): int',
    (quantity: QuantityValue) => {
      return isWhole(quantity) ? quantity.billionths / unit : new CelError('cannot convert value to integer')
    },
  ],
  [
    'kubernetes.Quantity.asApproximateFloat(): double',
    ({ billionths }: QuantityValue) => Number(billionths) / Number(unit),
  ],
  ['kubernetes.Quantity.compareTo(kubernetes.Quantity): int', compare],
  [
    'kubernetes.Quantity.isLessThan(kubernetes.Quantity): bool',
    (a: QuantityValue, b: QuantityValue) => compare(a, b) < 0n,
  ],
  [
    'kubernetes.Quantity.isGreaterThan(kubernetes.Quantity): bool',
    (a: QuantityValue, b: QuantityValue) => compare(a, b) > 0n,
  ],
  [
    'kubernetes.Quantity.add(kubernetes.Quantity): kubernetes.Quantity',
    (a: QuantityValue, b: QuantityValue) => new QuantityValue(a.billionths + b.billionths),
  ],
  [
    'kubernetes.Quantity.add(int): kubernetes.Quantity',
    (a: QuantityValue, b: bigint) => new QuantityValue(a.billionths + b * unit),
  ],
  [
    'kubernetes.Quantity.sub(kubernetes.Quantity): kubernetes.Quantity',
    (a: QuantityValue, b: QuantityValue) => new QuantityValue(a.billionths - b.billionths),
  ],
  [
    'kubernetes.Quantity.sub(int): kubernetes.Quantity',
    (a: QuantityValue, b: bigint) => new QuantityValue(a.billionths - b * unit),
  ],
]
