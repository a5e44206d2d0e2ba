import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

/** Words that the documents of Kubernetes, netfilter and DNS do not use for what they stood for here. */
const words =
  /\b(told|dear|mend|mends|mended|mending|whoever|nobody|somebody|way in|ways in|is to be had|are to be had)\b/i

/** A docstring names its subject and its verb; these beginnings have neither. */
const beginnings = /\/\*\*\s*(?:\*\s*)?(The same|As|Those|Of)\b/

/** A docstring begins with what the thing is or does; a question has neither subject nor verb. */
const questions = /\/\*\*\s*(?:\*\s*)?(What|Who|Whom|Why|By|Said|None)\b/

/** Folders and files that still have such docstrings. One that is done leaves the list; none is added. */
const foldersWithQuestions = ['src/model/network-policy.ts']

/** Files that may use the words, each with its reason. */
const exceptions: Readonly<Record<string, string>> = {
  'test/architecture/words.test.ts': 'this list of the words',
  'conformance/cluster/images.sh': 'the user with the number 65534 has such a name',
}

const files = execFileSync('git', ['ls-files', '*.md', '*.ts', '*.pl', '*.sh', '*.yaml'], { encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '' && !path.startsWith('test/fixtures/') && !Object.hasOwn(exceptions, path))
  .map((path) => ({ path, text: readFileSync(path, 'utf8') }))

function findLines(text: string, pattern: RegExp): readonly string[] {
  return text.split('\n').filter((line) => pattern.test(line))
}

function findInFiles(pattern: RegExp, prefix: string): readonly string[] {
  return files
    .filter(({ path }) => path.startsWith(prefix))
    .flatMap(({ path, text }) => findLines(text, pattern).map((line) => `${path}: ${line.trim()}`))
}

describe('plain technical English in source, tests and documents', () => {
  test('no line uses a word that the field does not', () => {
    assert.ok(files.length > 1000, `only ${files.length} files are read`)
    assert.deepEqual(findInFiles(words, ''), [])
  })

  test('no docstring of the source begins without its subject', () => {
    assert.deepEqual(findInFiles(beginnings, 'src/'), [])
  })

  test('no docstring of the other folders begins with a question', () => {
    const isToDo = (line: string) => foldersWithQuestions.some((folder) => line.startsWith(folder))
    assert.deepEqual(
      findInFiles(questions, 'src/').filter((line) => !isToDo(line)),
      [],
    )
  })

  test('each exception is a file that uses one of the words', () => {
    const unused = Object.keys(exceptions).filter((path) => !words.test(readFileSync(path, 'utf8')))
    assert.deepEqual(unused, [])
  })
})
