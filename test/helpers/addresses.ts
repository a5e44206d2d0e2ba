import assert from 'node:assert/strict'
import { type Cidr, type Ip, parseCidr, parseIp } from '../../src/model/ip.ts'

export function ipOf(text: string): Ip {
  const ip = parseIp(text)
  assert.ok(ip !== undefined, `${text} is an IP address`)
  return ip
}

export function cidrOf(text: string): Cidr {
  const cidr = parseCidr(text)
  assert.ok(cidr !== undefined, `${text} is a network`)
  return cidr
}
