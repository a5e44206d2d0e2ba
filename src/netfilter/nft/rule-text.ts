import type { IpFamily } from '../../model/ip.ts'
import type { balanceSets } from './set-specs.ts'

/** The words of rules that differ between the families. */
export interface Dialect {
  readonly family: IpFamily
  readonly table: 'ip' | 'ip6'
  readonly to: 'ip' | 'ip6'
  readonly source: string
  readonly destination: string
}

export type BalanceKind = keyof typeof balanceSets

export function dialectOf(family: IpFamily): Dialect {
  const name = family === 'IPv4' ? 'ip' : 'ip6'
  return { family, table: name, to: name, source: `${name} saddr`, destination: `${name} daddr` }
}

/** The fields of the packet that make the key of a destination. */
export function keyOf({ destination }: Dialect, kind: BalanceKind): string {
  return `${isPort(kind) ? '' : `${destination} . `}meta l4proto . th dport`
}

export function isPort(kind: BalanceKind): boolean {
  return kind === 'port' || kind === 'local-port'
}

export function chain(name: string, rules: readonly string[]): string {
  return `chain ${name} {\n${rules.map((rule) => `\t\t${rule}\n`).join('')}\t}`
}
