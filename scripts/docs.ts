// Writes what is generated in the documentation: `npm run docs`; with `--check` it only says whether that is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { optionGroups } from '../src/app/option-groups.ts'
import { optionsTable } from '../src/config/index.ts'

const readme = new URL('../README.md', import.meta.url)
const [begin, end] = ['<!-- options:begin -->', '<!-- options:end -->']

/** The text with everything between the markers replaced. */
function withSection(text: string, section: string): string {
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  if (from === -1 || to < from) throw new Error(`README.md: expected ${begin} and, after it, ${end}`)
  return `${text.slice(0, from + begin.length)}\n${section}${text.slice(to)}`
}

const before = readFileSync(readme, 'utf8')
const after = withSection(before, optionsTable(optionGroups))

if (before === after) {
  console.log('README.md: the options table is up to date')
} else if (process.argv.includes('--check')) {
  console.error('README.md: the options table is stale; `npm run docs` writes it anew')
  process.exitCode = 1
} else {
  writeFileSync(readme, after)
  console.log('README.md: the options table was written anew')
}
