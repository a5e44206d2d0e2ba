import assert from 'node:assert/strict'
import { readCorefile } from '../../src/node/dns/configuration/read-corefile.ts'
import type { SourceFile } from '../../src/node/dns/corefile/blocks.ts'
import { CorefileError } from '../../src/node/dns/corefile/errors.ts'
import type { ServerBlock } from '../../src/node/dns/plugins/server-block.ts'

const files: readonly SourceFile[] = [
  { path: '/etc/one.conf', text: 'errors\nlog\n' },
  { path: '/etc/block.conf', text: 'example.net {\n  whoops\n}\n' },
  { path: '/etc/self.conf', text: 'import self.conf\n' },
]
const sources = {
  files: (pattern: string) => files.filter(({ path }) => new RegExp(`^/etc/${pattern.replace('*', '.*')}$`).test(path)),
  environment: (name: string) => ({ ZONE: 'example.org', TTL: '17', PLUGIN: 'errors' })[name],
}

/** The blocks of a Corefile that may import a few files and knows a few variables. */
export function blocksOf(text: string): readonly ServerBlock[] {
  return readCorefile({ path: 'Corefile', text }, sources).blocks
}

/** The only block, for example.org. */
export function blockOf(directives: string): ServerBlock {
  const [block] = blocksOf(`example.org {\n${directives}\n}`)
  assert.ok(block)
  return block
}

/** `message` is how the error's begins: file and line. */
export function assertRefused(text: string, code: string, message: string): void {
  assert.throws(
    () => blocksOf(text),
    (error) => {
      assert.ok(error instanceof CorefileError)
      assert.equal(error.code, code)
      assert.ok(error.message.startsWith(message), `${error.message} instead of ${message}`)
      return true
    },
  )
}
