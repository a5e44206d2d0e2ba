import { z } from 'zod'
import { declareOptions, duration, durationOrNone, flagValue, portNumber, wordList } from '../config/index.ts'
import { controllerNames } from './controller-names.ts'

const commands = ['run', 'server'] as const

export const controllerOptions = declareOptions({
  controllers: {
    schema: wordList(controllerNames),
    flag: '--controllers <list>',
    default: [...controllerNames],
    reload: 'restart',
    commands,
    description: 'Which controllers run in the controller manager',
  },
  controllerManagerPort: {
    schema: portNumber,
    flag: '--controller-manager-port <port>',
    default: 8080,
    reload: 'restart',
    commands,
    description: 'The HTTP port of the controller manager on loopback and the node address: metrics and health',
  },
  schedulerPort: {
    schema: portNumber,
    flag: '--scheduler-port <port>',
    default: 8081,
    reload: 'restart',
    commands,
    description: 'The HTTP port of the scheduler on loopback and the node address: metrics and health',
  },
  nodeMonitorGracePeriod: {
    schema: duration,
    flag: '--node-monitor-grace-period <duration>',
    default: '40s',
    reload: 'live',
    commands,
    description: 'How long a node may go without a heartbeat before it counts as lost and its pods as not ready',
  },
  eventTtl: {
    schema: duration,
    flag: '--event-ttl <duration>',
    default: '1h',
    reload: 'live',
    commands,
    description: 'How long an Event is kept after its last occurrence',
  },
  clusterSigningDuration: {
    schema: duration,
    flag: '--cluster-signing-duration <duration>',
    default: '8760h',
    reload: 'live',
    commands,
    description: 'The longest life of a certificate that a CertificateSigningRequest gets from the cluster CA',
  },
  horizontalPodAutoscalerSyncPeriod: {
    schema: duration,
    flag: '--horizontal-pod-autoscaler-sync-period <duration>',
    default: '15s',
    reload: 'live',
    commands,
    description: 'How often each HorizontalPodAutoscaler is worked on',
  },
  horizontalPodAutoscalerDownscaleStabilization: {
    schema: durationOrNone,
    flag: '--horizontal-pod-autoscaler-downscale-stabilization <duration>',
    default: '5m',
    reload: 'live',
    commands,
    description:
      'How long a higher recommendation holds back a scale down of an autoscaler whose behavior does not say it',
  },
  horizontalPodAutoscalerTolerance: {
    schema: z.coerce.number().min(0).max(1),
    flag: '--horizontal-pod-autoscaler-tolerance <ratio>',
    default: 0.1,
    reload: 'live',
    commands,
    description: 'By how much the ratio of a metric to its target may differ from 1 without a change of the size',
  },
  horizontalPodAutoscalerCpuInitializationPeriod: {
    schema: durationOrNone,
    flag: '--horizontal-pod-autoscaler-cpu-initialization-period <duration>',
    default: '5m',
    reload: 'live',
    commands,
    description: 'How long after its start the CPU use of a pod counts only while it is ready',
  },
  horizontalPodAutoscalerInitialReadinessDelay: {
    schema: durationOrNone,
    flag: '--horizontal-pod-autoscaler-initial-readiness-delay <duration>',
    default: '30s',
    reload: 'live',
    commands,
    description: 'How long after its start a pod that becomes not ready counts as one that has never been ready',
  },
  concurrentHorizontalPodAutoscalerSyncs: {
    schema: z.coerce.number().int().min(1).max(100),
    flag: '--concurrent-horizontal-pod-autoscaler-syncs <number>',
    default: 5,
    reload: 'restart',
    commands,
    description: 'How many HorizontalPodAutoscalers are worked on at the same time',
  },
  leaderElectLeaseDuration: {
    schema: duration.refine((ms) => ms >= 1_000, 'must be at least 1s'),
    flag: '--leader-elect-lease-duration <duration>',
    default: '15s',
    reload: 'restart',
    commands,
    description:
      'How long after its last renewal a leader keeps the Lease; it renews every third of that time and stops leading after two thirds without a renewal',
  },
  leaderElect: {
    schema: flagValue,
    flag: '--leader-elect [boolean]',
    default: true,
    reload: 'restart',
    commands,
    description:
      'Run controllers only while this process holds the Lease in kube-system, so that one of several servers runs them',
  },
})
