// Writes the generated parts of the documentation: `npm run docs`. With `--check` it only reports whether they are stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { optionGroups } from '../src/app/option-groups.ts'
import { optionsTable } from '../src/config/index.ts'

const document = 'docs/options.md'
const file = new URL(`../${document}`, import.meta.url)
const [begin, end] = ['<!-- options:begin -->', '<!-- options:end -->']

/** Replaces the text between the markers. Throws where a marker is missing. */
function withSection(text: string, section: string): string {
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  if (from === -1 || to < from) throw new Error(`${document}: expected ${begin} and, after it, ${end}`)
  return `${text.slice(0, from + begin.length)}\n${section}${text.slice(to)}`
}

const before = readFileSync(file, 'utf8')
const after = withSection(before, optionsTable(optionGroups))

if (before === after) {
  console.log(`${document}: the options table is up to date`)
} else if (process.argv.includes('--check')) {
  console.error(`${document}: the options table is stale; \`npm run docs\` rewrites it`)
  process.exitCode = 1
} else {
  writeFileSync(file, after)
  console.log(`${document}: the options table was rewritten`)
}
