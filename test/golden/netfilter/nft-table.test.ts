import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lowerToElements } from '../../../src/netfilter/nft/lower-elements.ts'
import { renderChange } from '../../../src/netfilter/nft/render-change.ts'
import { renderTable } from '../../../src/netfilter/nft/render-table.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import { planFrontends } from '../../../src/node/proxy/plan.ts'
import { readGolden } from '../../helpers/golden.ts'
import { ip } from '../../helpers/services.ts'
import { everyKind, settingsOf } from '../../kernel/netfilter/every-kind.ts'

const folder = new URL('./nft-table/', import.meta.url)

const tables: Readonly<Record<string, ProxyRuleSettings>> = {
  'table-ipv4': settingsOf('IPv4'),
  'table-ipv6': settingsOf('IPv6'),
  'table-other-settings': {
    family: 'IPv4',
    localTraffic: { kind: 'interface', name: 'cni', isPrefix: true },
    masqueradeBit: 31,
    randomFully: false,
    nodePortAddresses: [ip('192.0.2.1'), ip('192.0.2.2')],
    dropInvalid: false,
    affinity: { form: 'recent', isHard: true },
  },
}

for (const [name, settings] of Object.entries(tables)) {
  test(`the rules of the mode nftables are those of the golden file (${name})`, () => {
    const { text } = renderTable(settings, { drawUpTo: 3, timeouts: [10800] })
    assert.equal(text, readGolden(folder, `${name}.nft`, text))
  })
}

for (const family of ['IPv4', 'IPv6'] as const) {
  test(`the elements of every kind of Service are those of the golden file (${family})`, () => {
    const settings = settingsOf(family)
    const parts = Array.from(everyKind(family), ([kind, { service, slices }]) => {
      const frontends = planFrontends(service, slices, { nodeName: 'node-a', family })
      const add = lowerToElements(frontends, settings).elements
      return `# ${kind}\n${renderChange({ family, name: 'platnet' }, [{ service: service.key, remove: [], add }])}`
    })
    const text = parts.join('\n')
    assert.equal(text, readGolden(folder, `elements-${family.toLowerCase()}.nft`, text))
  })
}
