import type { Component, Health } from '../../loop/component.ts'

/** Makes one component of several that start and stop together; its health is the first that is not good. */
export function groupComponents(name: string, parts: readonly Component[]): Component {
  return {
    name,
    start: async (scope) => {
      for (const part of parts) await part.start(scope)
    },
    stop: async (scope) => {
      await Promise.all(parts.map((part) => part.stop(scope)))
    },
    health: (): Health => {
      const reports = parts.map((part) => part.health())
      return reports.find(({ level }) => level !== 'ok') ?? { level: 'ok', message: '', sinceMs: 0 }
    },
  }
}
