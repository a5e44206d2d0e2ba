import { runProgram } from '../../src/host/index.ts'
import { clusterIp, endpointAddress, type Size } from './cluster.ts'
import { podNetwork } from './node-lab.ts'
import type { ProxyTarget } from './targets.ts'

/** Nft takes more than linear time for what stands in one transaction. */
const servicesPerTransaction = 1_000
const timeoutMs = 600_000

/**
 * The maps and chains of kube-proxy's nftables mode, written once by hand: a verdict map of Services, a chain for each and one for each
 * endpoint. kube-proxy itself takes minutes for tens of thousands, and this is how fast its packets would be.
 */
export function handWrittenTarget(size: Size): ProxyTarget {
  return {
    name: 'nftables maps as of kube-proxy, by hand',
    isFixed: true,
    start: async (lab) => {
      for (const input of transactions(size))
        await runProgram('nft', ['-f', '-'], { netns: lab.netns, input, timeoutMs })
      return lab.start('sleep', ['infinity'])
    },
    untilReady: async () => {},
  }
}

const frame = `table ip kube-proxy {
	map service-ips { type ipv4_addr . inet_proto . inet_service : verdict; }
	map no-endpoint-services { type ipv4_addr . inet_proto . inet_service : verdict; }
	map service-nodeports { type inet_proto . inet_service : verdict; }
	chain mark-for-masquerade { meta mark set meta mark or 0x4000; }
	chain masquerading {
		meta mark and 0x4000 == 0 return
		meta mark set meta mark xor 0x4000
		masquerade fully-random
	}
	chain services {
		ip daddr . meta l4proto . th dport vmap @service-ips
		fib daddr type local ip daddr != 127.0.0.0/8 meta l4proto . th dport vmap @service-nodeports
	}
	chain endpoints-check { ip daddr . meta l4proto . th dport vmap @no-endpoint-services; }
	chain nat-prerouting { type nat hook prerouting priority dstnat; jump services; }
	chain nat-output { type nat hook output priority -100; jump services; }
	chain nat-postrouting { type nat hook postrouting priority srcnat; jump masquerading; }
	chain filter-forward { type filter hook forward priority -110; ct state new jump endpoints-check; }
	chain filter-output { type filter hook output priority -110; ct state new jump endpoints-check; }
}
`

function* transactions({ services, endpoints }: Size): Iterable<string> {
  yield frame
  for (let first = 0; first < services; first += servicesPerTransaction) {
    const count = Math.min(servicesPerTransaction, services - first)
    const numbers = Array.from({ length: count }, (_, index) => first + index)
    const chains = numbers.map((number) => serviceChains(number, endpoints))
    const elements = numbers.map((number) => `${clusterIp(number)} . tcp . 80 : goto service-${number}`)
    yield `table ip kube-proxy {\n${chains.join('')}}\nadd element ip kube-proxy service-ips { ${elements.join(', ')} }\n`
  }
}

function serviceChains(number: number, endpoints: number): string {
  const indexes = Array.from({ length: endpoints }, (_, index) => index)
  const targets = indexes.map((index) => `${index} : goto endpoint-${number}-${index}`)
  const ofEndpoints = indexes.map((index) => {
    const address = endpointAddress(number, index)
    const rules = [`ip saddr ${address} jump mark-for-masquerade`, `meta l4proto tcp dnat to ${address}:8080`]
    return chain(`endpoint-${number}-${index}`, rules)
  })
  const masquerade = `ip daddr ${clusterIp(number)} tcp dport 80 ip saddr != ${podNetwork} jump mark-for-masquerade`
  const choose = `numgen random mod ${endpoints} vmap { ${targets.join(', ')} }`
  return ofEndpoints.join('') + chain(`service-${number}`, [masquerade, choose])
}

function chain(name: string, rules: readonly string[]): string {
  return `chain ${name} {\n${rules.map((rule) => `\t${rule}\n`).join('')}}\n`
}
