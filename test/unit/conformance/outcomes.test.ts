import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  focusOn,
  isCutOff,
  type Outcome,
  planBatches,
  readOutcomes,
  renderReport,
} from '../../../conformance/outcomes.ts'

const spec = (values: object) => ({
  ContainerHierarchyTexts: ['[sig-network] Services'],
  LeafNodeText: 'should serve [Conformance]',
  LeafNodeType: 'It',
  State: 'passed',
  RunTime: 1_260_000_000,
  ...values,
})

const reportOf = (...specs: readonly object[]) => JSON.stringify([{ SpecReports: specs }])

const outcome = (name: string, state = 'passed', reason = ''): Outcome => ({ name, state, seconds: 1, reason })

describe('outcomes of the suite', () => {
  test('a test that ran has its full name, its state and its seconds', () => {
    assert.deepEqual(readOutcomes(reportOf(spec({}))), [
      { name: '[sig-network] Services should serve [Conformance]', state: 'passed', seconds: 1.3, reason: '' },
    ])
  })

  test('tests that the focus did not select, and passed nodes around tests, are left out', () => {
    const json = reportOf(
      spec({ State: 'skipped' }),
      spec({ LeafNodeType: 'SynchronizedBeforeSuite', LeafNodeText: '' }),
    )
    assert.deepEqual(readOutcomes(json), [])
  })

  test('a test that skipped itself keeps its reason, and a node around tests that failed is an outcome', () => {
    const outcomes = readOutcomes(
      reportOf(
        spec({ State: 'skipped', Failure: { Message: 'needs\n 3 nodes' } }),
        spec({ LeafNodeType: 'BeforeEach', ContainerHierarchyTexts: null, State: 'failed', LeafNodeText: '' }),
      ),
    )
    assert.deepEqual(
      outcomes.map(({ name, state, reason }) => [name, state, reason]),
      [
        ['[sig-network] Services should serve [Conformance]', 'skipped', 'needs 3 nodes'],
        ['<BeforeEach>', 'failed', ''],
      ],
    )
  })

  test('a report of another form is refused', () => {
    assert.throws(() => readOutcomes('{"SpecReports": []}'), /array/)
  })

  test('a run that was cut off goes on with the tests that have no outcome', () => {
    const batches = planBatches(['a', 'b', 'c', 'd'], [outcome('b', 'failed')], 2)
    assert.deepEqual(batches, [['a', 'c'], ['d']])
  })

  test('tests that must run alone are in batches of their own', () => {
    assert.deepEqual(planBatches(['a', 'b [Serial] x', 'c'], [], 2), [['a', 'c'], ['b [Serial] x']])
  })

  test('a test that the limit of the run ended has no outcome; its own time limit is a failure', () => {
    assert.ok(isCutOff(outcome('a', 'interrupted')))
    assert.ok(isCutOff(outcome('a', 'timedout', 'A suite timeout occurred')))
    assert.ok(!isCutOff(outcome('a', 'timedout', 'A spec timeout occurred')))
    assert.ok(!isCutOff(outcome('a', 'failed', 'a suite timeout is named')))
  })

  test('the focus of a test matches its own name alone, behind the title of the suite', () => {
    const pattern = new RegExp(focusOn('[sig-network] a (b) works? [Conformance]'))
    assert.ok(pattern.test('Kubernetes e2e suite [sig-network] a (b) works? [Conformance]'))
    assert.ok(!pattern.test('Kubernetes e2e suite [sig-network] a (b) works? [Conformance] twice'))
    assert.ok(!pattern.test('Kubernetes e2e suite [sig-network] a b works [Conformance]'))
  })

  test('the report counts states and shows the outcome of the peer beside each test that did not pass', () => {
    const report = renderReport(
      'beside',
      'two kubelets',
      [outcome('b', 'failed', 'timed out'), outcome('a')],
      [outcome('b', 'passed')],
    )
    assert.match(report, /^# beside: 1 failed, 1 passed\n/)
    assert.match(report, /- failed \(peer: passed\): b: timed out\n/)
    assert.match(report, /- passed, 1 s: a\n- failed, 1 s: b\n/)
  })
})
