import { event, groupEvent } from './core-kinds.ts'
import { change, create, differs, type Fields, type ObjectCase, objectCases, unreadable } from './object-case.ts'
import { type KindCases, otherWords } from './write-case.ts'

const about = { kind: 'Pod', namespace: 'default', name: 'web-1' }
const eventTime = '2026-01-01T00:00:00.000000Z'
const time = '2026-01-01T00:00:00Z'
const modern = {
  eventTime,
  reportingComponent: 'example.com/controller',
  reportingInstance: 'controller-1',
  action: 'Started',
  reason: 'Started',
}
const form = (title: string, fields: Fields, ...errors: string[]) => create(title, { ...modern, ...fields }, ...errors)
const long = 'a'.repeat(129)
const place = 'Invalid involvedObject.namespace'

const coreEvents: readonly ObjectCase[] = [
  create('about something without a place', { involvedObject: { ...about, namespace: null } }),
  create('about something elsewhere', { involvedObject: { ...about, namespace: 'other' } }, place),
  create('of a type that is none', { type: 'Bad', count: -1, message: 'a'.repeat(2000), reason: long }),
  form('of the newer form', {}),
  form('of the newer form about something without a place', { involvedObject: { ...about, namespace: null } }),
  form('of the newer form about something elsewhere', { involvedObject: { ...about, namespace: 'other' } }),
  form(
    'of the newer form of no controller',
    { reportingComponent: null },
    'Required reportingComponent',
    'Invalid reportingComponent',
  ),
  form('of the newer form of a bad controller', { reportingComponent: 'a b' }, 'Invalid reportingComponent'),
  form('of the newer form of no instance', { reportingInstance: null }, 'Required reportingInstance'),
  form('of the newer form of a long instance', { reportingInstance: long }, 'Invalid reportingInstance'),
  form('of the newer form of no action', { action: null }, 'Required action'),
  form('of the newer form of a long action', { action: long }, 'Invalid action'),
  form('of the newer form of no reason', { reason: null }, 'Required reason'),
  form('of the newer form of a long reason', { reason: long }, 'Invalid reason'),
  form('of the newer form of 1,024 letters', { message: 'a'.repeat(1024) }),
  form('of the newer form of 1,025 letters', { message: 'a'.repeat(1025) }, 'Invalid message'),
  form('of the newer form of a type that is none', { type: 'Bad' }),
  form('of the newer form of a short series', { series: { count: 1 } }),
  unreadable(create('at a time that is none', { firstTimestamp: 'now' })),
  differs(
    create('of the newer form at a time without fractions', { ...modern, eventTime: time }),
    'the API core completes the microseconds',
  ),
  change('changes', {}, { count: 2, message: 'again', involvedObject: { name: 'other' } }),
  change('moves', {}, { involvedObject: { namespace: 'other' } }, place),
  change('of the newer form loses its action', modern, { action: null }, 'Required action'),
]

const groupEvents: readonly ObjectCase[] = [
  create('of the group', {}),
  create('of the group about something without a place', { regarding: { ...about, namespace: null } }),
  create('of the group about something elsewhere', { regarding: { ...about, namespace: 'other' } }),
  create('of the group without time', { eventTime: null }, 'Required eventTime'),
  create(
    'of the group without time about something elsewhere',
    { eventTime: null, regarding: { ...about, namespace: 'other' } },
    'Required eventTime',
    place,
  ),
  create('of the group without type', { type: null }, 'Invalid type'),
  create('of the group of a type that is none', { type: 'Bad' }, 'Invalid type'),
  create(
    'of the group of no controller',
    { reportingController: null },
    'Required reportingController',
    'Invalid reportingController',
  ),
  create('of the group of a bad controller', { reportingController: 'a b' }, 'Invalid reportingController'),
  create('of the group of no instance', { reportingInstance: null }, 'Required reportingInstance'),
  create('of the group of a long instance', { reportingInstance: long }, 'Invalid reportingInstance'),
  create('of the group of no action', { action: null }, 'Required action'),
  create('of the group of no reason', { reason: null }, 'Required reason'),
  create('of the group of a long note', { note: 'a'.repeat(1025) }, 'Invalid message'),
  create('of the group with an old source', { deprecatedSource: { component: 'a' } }, 'Invalid source'),
  create('of the group with an empty old source', { deprecatedSource: {} }),
  create('of the group with an old count', { deprecatedCount: 1 }, 'Invalid count'),
  create(
    'of the group with old times',
    { deprecatedFirstTimestamp: time, deprecatedLastTimestamp: time },
    'Invalid firstTimestamp',
    'Invalid lastTimestamp',
  ),
  create('of the group of a series', { series: { count: 2, lastObservedTime: eventTime } }),
  create(
    'of the group of a short series',
    { series: { count: 1, lastObservedTime: eventTime } },
    'Invalid series.count',
  ),
  create('of the group of a series without time', { series: { count: 2 } }, 'Required series.lastObservedTime'),
  create('of the group of an empty series', { series: {} }, 'Invalid series.count', 'Required series.lastObservedTime'),
]

const groupUpdates: readonly ObjectCase[] = [
  change('becomes a series', {}, { series: { count: 2, lastObservedTime: eventTime } }),
  change('becomes a short series', {}, { series: { count: 1, lastObservedTime: eventTime } }, 'Invalid series.count'),
  change('is labelled', {}, { metadata: { labels: { a: 'b' } } }),
  {
    ...change('is about something else', {}, { regarding: { name: 'other' } }, 'Invalid involvedObject'),
    ...otherWords.goFields,
  },
  change('has another reason', {}, { reason: 'Other' }, 'Invalid reason'),
  change('has another note', {}, { note: 'other' }, 'Invalid message'),
  change('has another type', {}, { type: 'Warning' }, 'Invalid type'),
  change('has another time', {}, { eventTime: '2026-01-02T00:00:00.000000Z' }, 'Invalid eventTime'),
  change('has the same time in another zone', {}, { eventTime: '2026-01-01T01:00:00.000000+01:00' }),
  change('has another action', {}, { action: 'Other' }, 'Invalid action'),
  { ...change('has something related', {}, { related: about }, 'Invalid related'), ...otherWords.goFields },
  change('has another controller', {}, { reportingController: 'example.com/other' }, 'Invalid reportingController'),
  change('has another instance', {}, { reportingInstance: 'other' }, 'Invalid reportingInstance'),
  change('has an old count', {}, { deprecatedCount: 1 }, 'Invalid count'),
  {
    ...change('has an old source', {}, { deprecatedSource: { component: 'a' } }, 'Invalid source'),
    ...otherWords.goFields,
  },
  change('has an old time', {}, { deprecatedFirstTimestamp: time }, 'Invalid firstTimestamp'),
  change('has another old time', {}, { deprecatedLastTimestamp: time }, 'Invalid lastTimestamp'),
]

export const eventCases: KindCases = objectCases('Events', event, coreEvents)
export const groupEventCases: KindCases = objectCases('Events of events.k8s.io', groupEvent, [
  ...groupEvents,
  ...groupUpdates,
])
