/** The figures of `projections status` as Prometheus metrics. */
import { expect, test } from '@jest/globals'
import { Registry } from 'prom-client'
import { createProjectionMetrics } from '../../../projections/engine/metrics.js'
import type { ProjectionStatus } from '../../../projections/engine/watch.js'

const status = (some: Partial<ProjectionStatus> = {}): ProjectionStatus => ({
  name: 'notes',
  version: 1,
  generation: 1,
  position: 5,
  head: 9,
  lagEvents: 3,
  lagIsAtLeast: false,
  lagSeconds: 2.5,
  state: 'following',
  updatedAt: '',
  stopped: [],
  partitions: [
    { partition: 0, position: 9, lagEvents: 0, lagIsAtLeast: false, lagSeconds: 0 },
    { partition: 1, position: 5, lagEvents: 3, lagIsAtLeast: false, lagSeconds: 2.5, stop: { reason: 'cannot' } },
  ],
  ...some,
})

test('each partition has its lag, and whether it stopped', async () => {
  const register = new Registry()
  let looks = 0
  let isWorking = true
  const metrics = createProjectionMetrics(
    register,
    async () => {
      looks += 1
      return [status()]
    },
    () => isWorking,
  )
  metrics.applied('notes', 1, 7)
  metrics.applied('notes', 1, 2)
  const text = await register.metrics()
  for (const line of [
    'context_ledger_projection_lag_events{projection="notes",partition="1"} 3',
    'context_ledger_projection_lag_seconds{projection="notes",partition="1"} 2.5',
    'context_ledger_projection_lag_events{projection="notes",partition="0"} 0',
    'context_ledger_projection_stopped{projection="notes",partition="0"} 0',
    'context_ledger_projection_stopped{projection="notes",partition="1"} 1',
    'context_ledger_projection_working 1',
    'context_ledger_projection_applied_events_total{projection="notes",partition="1"} 9',
    '# TYPE context_ledger_projection_applied_events_total counter',
  ])
    expect(text.split('\n')).toContain(line)
  expect(looks).toBe(1)
  isWorking = false
  expect(await register.metrics()).toContain('context_ledger_projection_working 0')
})

test('a projection that this program refuses is stopped in each partition', async () => {
  const register = new Registry()
  const partitions = [{ partition: 0, position: 9, lagEvents: 0, lagIsAtLeast: false, lagSeconds: 0 }]
  createProjectionMetrics(
    register,
    async () => [status({ partitions, state: 'stopped', stop: { reason: 'has rows of a newer version' } })],
    () => true,
  )
  expect(await register.metrics()).toContain('context_ledger_projection_stopped{projection="notes",partition="0"} 1')
})
