import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve(import.meta.dirname, '../..')
const widthLimit = 120
const documents = globSync('{*.md,{src,test,bench,docs,cni,systemd,examples}/**/*.md}', { cwd: root })

/** Lists the lines of prose that could be wrapped: outside code blocks, tables and headings, with a blank within the limit. */
function tooWide(text: string): readonly string[] {
  const prose = text.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '')
  return prose
    .split('\n')
    .filter((line) => line.length > widthLimit && !/^\s*(\||#|<!--|>)/.test(line))
    .filter((line) => !/^\s*(?:[-*] |\d+\. )?(?:`[^`]*`|\[[^\]]*\]\([^)]*\))\S*$/.test(line))
}

test(`prose in documents wraps at ${widthLimit} characters`, () => {
  const found = documents.flatMap((file) =>
    tooWide(readFileSync(join(root, file), 'utf8')).map((line) => `${file}: ${line}`),
  )
  assert.deepEqual(found, [])
})
