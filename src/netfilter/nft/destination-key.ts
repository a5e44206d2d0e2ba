import type { Ip } from '../../model/ip.ts'
import type { Protocol } from '../../model/service.ts'

interface PortOfService {
  readonly protocol: Protocol
  readonly port: number
}

/** `10.96.0.1 . tcp . 80` */
export function addressKey({ protocol, port }: PortOfService, address: Ip): string {
  return `${address} . ${portKey({ protocol }, port)}`
}

/** `tcp . 30080` */
export function portKey({ protocol }: Pick<PortOfService, 'protocol'>, port: number): string {
  return `${protocol.toLowerCase()} . ${port}`
}
