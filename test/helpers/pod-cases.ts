import { containerCases } from './container-cases.ts'
import type { PodCase } from './pod-case.ts'
import { annotatedCases, podSpecCases, volumeCases } from './pod-spec-cases.ts'

/** Pods, each one step away from a valid one, for the API core and kube-apiserver alike. */
export const podCases: readonly PodCase[] = [...containerCases, ...podSpecCases, ...volumeCases, ...annotatedCases]
