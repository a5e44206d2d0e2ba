import { type Ip, ipFamily } from '../../../model/ip.ts'

export const notrackTable = 'platnet-dns'

/**
 * Returns the commands for `nft -i`: a table that the kernel drops with the program that made it, with rules that keep queries to these
 * addresses, and their answers, away from connection tracking and so from every DNAT.
 */
export function notrackCommands(addresses: readonly Ip[], port: number): string {
  const rules = addresses.flatMap((address) => {
    const family = ipFamily(address) === 'IPv6' ? 'ip6' : 'ip'
    return ['udp', 'tcp'].flatMap((protocol) => [
      `${family} daddr ${address} ${protocol} dport ${port} notrack`,
      `${family} saddr ${address} ${protocol} sport ${port} notrack`,
    ])
  })
  const chain = (hook: string) =>
    `chain ${hook} { type filter hook ${hook} priority raw; policy accept; ${rules.join('; ')}; }`
  return `table inet ${notrackTable} { flags owner; ${chain('prerouting')}; ${chain('output')}; }\n`
}
