import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve(import.meta.dirname, '../..')

for (const document of ['docs/traffic-proxy.md', 'docs/pod-networks.md', 'docs/cluster-dns.md']) {
  test(`every file that ${document} names as code or proof is there`, () => {
    const text = readFileSync(resolve(root, document), 'utf8')
    const named = [...text.matchAll(/`((?:src|test|bench|docs)\/[^`…*]+)`/g)].map(([, file = '']) => file)
    assert.ok(named.length > 50)
    assert.deepEqual(
      named.filter((file) => !existsSync(resolve(root, file))),
      [],
    )
  })
}
