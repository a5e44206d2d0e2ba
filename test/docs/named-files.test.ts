import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { describe, test } from 'node:test'

const root = resolve(import.meta.dirname, '../..')
const isOurs = (file: string): boolean => !/(^|\/)(node_modules|\.cache)\//.test(file)
const list = (...patterns: string[]): string[] =>
  patterns.flatMap((pattern) => globSync(pattern, { cwd: root })).filter(isOurs)
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

const documents = list('*.md', '{src,test,bench,docs,scripts,cni,systemd,examples,deploy}/**/*.md')
const sources = list('{src,test,bench,scripts}/**/*.{ts,pl,sh}')
const fileNames = new Set(
  list('{src,test,bench,docs,scripts,cni,systemd,examples,deploy}/**/*', '*.*').map((file) => basename(file)),
)

/** A file is found from the root, or from the document's folder; a path may name a file further below that folder. */
function isThere(named: string, document: string): boolean {
  return [root, join(root, dirname(document))].some((folder) => existsSync(join(folder, named)))
}

/** Reads the targets of relative links, without their anchors. */
function linksOf(text: string): string[] {
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target.split('#')[0] ?? '')
  return targets.filter((target) => target !== '' && !/^[a-z]+:/.test(target))
}

/** Reads the paths in backticks that begin with a folder of the repository. */
function pathsOf(text: string): string[] {
  const folders = /`((?:src|test|bench|docs|scripts|cni|systemd|examples|deploy)\/[^`…*\s{}<]+)`/g
  return [...text.matchAll(folders)].map(([, path = '']) => path)
}

/** Reads the names in backticks that are TypeScript, Perl or shell files without a folder. */
function plainNamesOf(text: string): string[] {
  return [...text.matchAll(/`([a-z0-9-]+(?:\.[a-z]+)*\.(?:ts|pl|sh))`/g)].map(([, name = '']) => name)
}

/** Reads the headings `### 2.12 …` and `## 5. …` as section numbers. */
function sectionsOf(text: string): Set<string> {
  return new Set([...text.matchAll(/^#+ ([0-9]+(?:\.[0-9]+)?)\.? /gm)].map(([, number = '']) => number))
}

describe('what documents and comments refer to', () => {
  for (const document of documents) {
    test(`${document} names only files that exist`, () => {
      const text = read(document)
      const missing = [
        ...linksOf(text).filter((target) => !existsSync(join(root, dirname(document), target))),
        ...pathsOf(text).filter((path) => !isThere(path, document)),
        ...plainNamesOf(text).filter((name) => !fileNames.has(name)),
      ]
      assert.deepEqual(missing, [])
    })
  }

  test('every .md file that a comment names exists', () => {
    const named = sources.flatMap((file) =>
      [...read(file).matchAll(/(?<=^|[\s(`'"])((?:[\w-]+\/)*[\w-]+\.md)\b/g)]
        .filter(([, path = '']) => !/['"]/.test(path))
        .map(([, path = '']) => ({ file, path })),
    )
    assert.ok(named.length > 10)
    assert.deepEqual(
      named.filter(({ file, path }) => !isThere(path, file)),
      [],
    )
  })

  test('every section of the specification that is referred to exists', () => {
    const sections = sectionsOf(read('docs/specification.md'))
    const referred = [...sources, ...documents].flatMap((file) =>
      [...read(file).matchAll(/\bspec ([0-9]+(?:\.[0-9]+)?)/g)].map(([, number = '']) => ({ file, number })),
    )
    assert.ok(referred.length > 10)
    assert.deepEqual(
      referred.filter(({ number }) => !sections.has(number)),
      [],
    )
  })

  for (const [document, limit] of [
    ['README.md', 900],
    ['bench/README.md', 800],
  ] as const) {
    test(`${document} has at most ${limit} words`, () => {
      const words = read(document).split(/\s+/).length
      assert.ok(words <= limit, `${words} words`)
    })
  }
})
