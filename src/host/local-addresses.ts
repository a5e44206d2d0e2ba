import { networkInterfaces } from 'node:os'
import { type Ip, parseIp } from '../model/ip.ts'

/** Returns the current addresses of this machine's links. */
export function localAddresses(): ReadonlySet<Ip> {
  const infos = Object.values(networkInterfaces()).flatMap((found) => found ?? [])
  return new Set(infos.map(({ address }) => parseIp(address)).filter((address) => address !== undefined))
}
