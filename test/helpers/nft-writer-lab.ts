import assert from 'node:assert/strict'
import { addHash, emptyXorHash, hashItem } from '../../src/model/xor-hash.ts'
import { ElementRuleset } from '../../src/netfilter/nft/element-ruleset.ts'
import { lowerToElements } from '../../src/netfilter/nft/lower-elements.ts'
import type { ProxyRuleSettings } from '../../src/netfilter/settings.ts'
import { NftWriter } from '../../src/node/rules/nft/writer.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { FakeNft } from './fake-nft.ts'
import { makeFrontend } from './frontends.ts'

export const nftSettings: ProxyRuleSettings = { family: 'IPv4' }

export function objects(name: string) {
  return addHash(emptyXorHash, hashItem(name, ''))
}

/** A writer with the wanted elements of some Services, on a kernel that may outlive it. */
export class NftWriterLab {
  readonly kernel: FakeNft
  readonly ruleset: ElementRuleset
  readonly writer: NftWriter
  readonly warnings: unknown[] = []

  constructor(kernel = new FakeNft(), more: Partial<ProxyRuleSettings> = {}) {
    this.kernel = kernel
    this.ruleset = new ElementRuleset({ ...nftSettings, ...more })
    const log = { ...silentLogger, warn: (_: string, fields?: object) => void this.warnings.push(fields) }
    this.writer = new NftWriter({ family: 'IPv4', kernel, wanted: this.ruleset, log })
  }

  /** Each Service has one port; its endpoints are the addresses. */
  set(services: Readonly<Record<string, readonly string[]>>, name = JSON.stringify(services)) {
    const lowered = Object.entries(services).map(([key, addresses], index) => {
      const frontend = makeFrontend(key, `10.96.0.${index + 1}`, addresses)
      return [key, addresses.length === 0 ? undefined : lowerToElements([frontend], nftSettings)] as const
    })
    return this.writer.write(this.ruleset.update(new Map(lowered)), objects(name))
  }

  wanted(): readonly string[] {
    const all = [...this.ruleset.all()].map(({ set, key, data }) => `${set} ${key} : ${data}`)
    return [...all, 'state 1 : '].sort()
  }

  assertInKernel(): void {
    assert.deepEqual(this.kernel.elements(), this.wanted())
  }
}

export const twoServices = { 'default/a': ['10.244.0.1', '10.244.0.2'], 'default/b': ['10.244.0.3'] } as const
