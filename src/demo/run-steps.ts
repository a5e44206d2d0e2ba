import { describeError } from '../model/errors.ts'
import type { Finding } from './findings.ts'
import type { Scene, Step } from './scene.ts'

/** Runs the steps in order, a line each; a step that throws did not hold, and the next one is tried all the same. */
export async function runSteps(
  steps: readonly Step[],
  scene: Scene,
  print: (line: string) => void,
): Promise<{ held: number; failed: number }> {
  let held = 0
  for (const step of steps) {
    const startedMs = performance.now()
    const finding = await step.run(scene).catch(
      (thrown: unknown): Finding => ({
        tried: 'the step could not be finished',
        seen: describeError(thrown),
        held: false,
      }),
    )
    if (finding.held) held += 1
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
    print(`${finding.held ? '✔' : '✖'} ${step.title} | ${finding.tried} | ${finding.seen} | ${seconds} s`)
  }
  return { held, failed: steps.length - held }
}
