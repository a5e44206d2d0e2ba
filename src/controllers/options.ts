import { declareOptions, duration, flagValue, portNumber, wordList } from '../config/index.ts'
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
    reload: 'restart',
    commands,
    description: 'How long a node may go without a heartbeat before it counts as lost and its pods as not ready',
  },
  eventTtl: {
    schema: duration,
    flag: '--event-ttl <duration>',
    default: '1h',
    reload: 'restart',
    commands,
    description: 'How long an Event is kept after its last occurrence',
  },
  leaderElectLeaseDuration: {
    schema: duration.refine((ms) => ms >= 1_000, 'must be at least 1s'),
    flag: '--leader-elect-lease-duration <duration>',
    default: '15s',
    reload: 'restart',
    commands,
    description:
      'How long after its last renewal a leader keeps the Lease; it renews every 2/15 of that time and stops leading after 2/3 without a renewal',
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
