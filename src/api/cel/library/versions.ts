import { parseType } from '../values/types.ts'
import { CelError, OpaqueValue, type Value } from '../values/values.ts'
import type { CelFunction } from './declarations.ts'

/** A semantic version (semver.org 2.0.0). */
class SemverValue extends OpaqueValue {
  readonly type = parseType('kubernetes.Semver')
  readonly numbers: readonly [major: bigint, minor: bigint, patch: bigint]
  readonly prerelease: readonly string[]

  constructor(numbers: readonly [bigint, bigint, bigint], prerelease: readonly string[]) {
    super()
    this.numbers = numbers
    this.prerelease = prerelease
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof SemverValue && compare(this, other) === 0n
  }

  /** Returns the version without its build metadata, which comparisons ignore. */
  override toString(): string {
    return this.numbers.join('.') + (this.prerelease.length === 0 ? '' : `-${this.prerelease.join('.')}`)
  }
}

const number = '(0|[1-9]\\d{0,18})'
const part = '[0-9A-Za-z-]+'
const semverText = new RegExp(
  `^${number}\\.${number}\\.${number}(?:-(${part}(?:\\.${part})*))?(?:\\+${part}(?:\\.${part})*)?$`,
)

function readSemver(text: string, isNormalized = false): SemverValue | undefined {
  const match = semverText.exec(isNormalized ? normalize(text) : text)
  if (match === null) return undefined
  const [, major = '', minor = '', patch = '', prerelease = ''] = match
  const parts = prerelease === '' ? [] : prerelease.split('.')
  if (parts.some((each) => /^0\d+$/.test(each))) return undefined
  return new SemverValue([BigInt(major), BigInt(minor), BigInt(patch)], parts)
}

/** Normalises a version: `v1.02` becomes `1.2.0`. */
function normalize(text: string): string {
  const [, core = '', rest = ''] = /^v?([^-+]*)([\s\S]*)$/.exec(text) ?? []
  const numbers = core.split('.').map((each) => each.replace(/^0+(?=\d)/, ''))
  return [...numbers, '0', '0'].slice(0, Math.max(3, numbers.length)).join('.') + rest
}

function toSemver(text: string, isNormalized = false): Value {
  const version = readSemver(text, isNormalized)
  return version ?? new CelError('No Major.Minor.Patch elements found')
}

function compare(left: SemverValue, right: SemverValue): bigint {
  for (const [index, each] of left.numbers.entries()) {
    const other = right.numbers[index] ?? 0n
    if (each !== other) return each < other ? -1n : 1n
  }
  return comparePrerelease(left.prerelease, right.prerelease)
}

/**
 * Compares pre-releases: a version without one is later. The first part that differs decides, and numbers precede
 * texts.
 */
function comparePrerelease(left: readonly string[], right: readonly string[]): bigint {
  if (left.length === 0 || right.length === 0) return BigInt(Number(left.length === 0) - Number(right.length === 0))
  for (const [index, each] of left.entries()) {
    const other = right[index]
    if (other === undefined) return 1n
    if (each !== other) return comparePart(each, other)
  }
  return left.length < right.length ? -1n : 0n
}

function comparePart(left: string, right: string): bigint {
  const [isLeft, isRight] = [left, right].map((each) => /^\d+$/.test(each))
  if (isLeft !== isRight) return isLeft ? -1n : 1n
  const isBefore = isLeft ? BigInt(left) < BigInt(right) : left < right
  return isBefore ? -1n : 1n
}

/** The semver library of Kubernetes. */
export const versionFunctions: readonly CelFunction[] = [
  ['semver(string): kubernetes.Semver', (text: string) => toSemver(text)],
  ['semver(string, bool): kubernetes.Semver', (text: string, isNormalized: boolean) => toSemver(text, isNormalized)],
  ['isSemver(string): bool', (text: string) => readSemver(text) !== undefined],
  [
    'isSemver(string, bool): bool',
    (text: string, isNormalized: boolean) => readSemver(text, isNormalized) !== undefined,
  ],
  ['kubernetes.Semver.major(): int', ({ numbers: [major] }: SemverValue) => major],
  ['kubernetes.Semver.minor(): int', ({ numbers: [, minor] }: SemverValue) => minor],
  ['kubernetes.Semver.patch(): int', ({ numbers: [, , patch] }: SemverValue) => patch],
  ['kubernetes.Semver.compareTo(kubernetes.Semver): int', compare],
  ['kubernetes.Semver.isLessThan(kubernetes.Semver): bool', (a: SemverValue, b: SemverValue) => compare(a, b) < 0n],
  ['kubernetes.Semver.isGreaterThan(kubernetes.Semver): bool', (a: SemverValue, b: SemverValue) => compare(a, b) > 0n],
]
