/** The routes of the metrics server, and its error if it cannot listen. */
import { afterEach, expect, test } from '@jest/globals'
import { Counter, Registry } from 'prom-client'
import { startMetricsServer, type Health, type MetricsServer } from '../../src/interfaces/cli/workers/metrics-server.js'

const open: MetricsServer[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})
async function serve(health: () => Promise<Health>, port = 0): Promise<string> {
  const register = new Registry()
  new Counter({ name: 'things_total', help: 'Things.', registers: [register] }).inc(3)
  const server = await startMetricsServer({ host: '127.0.0.1', port, register, health })
  open.push(server)
  return server.url
}

test('metrics in the format of Prometheus, health as JSON, and nothing else', async () => {
  let ok = true
  const url = await serve(async () => ({ ok, details: { position: 12 } }))
  const metrics = await fetch(`${url}/metrics`)
  expect(metrics.headers.get('content-type')).toContain('version=0.0.4')
  expect(await metrics.text()).toContain('things_total 3')
  const well = await fetch(`${url}/health?probe=1`)
  expect([well.status, await well.json()]).toEqual([200, { status: 'ok', position: '12' }])
  ok = false
  const ill = await fetch(`${url}/health`)
  expect([ill.status, await ill.json()]).toEqual([503, { status: 'stopped', position: '12' }])
  expect((await fetch(`${url}/`)).status).toBe(404)
  expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405)
})

test('a process that cannot say how it is, is not well', async () => {
  const url = await serve(async () => await Promise.reject(new Error('the database does not answer')))
  const answer = await fetch(`${url}/health`)
  expect([answer.status, await answer.json()]).toEqual([
    503,
    { status: 'unknown', reason: 'the database does not answer' },
  ])
})

test('a port that is taken is an error that says so', async () => {
  const url = await serve(async () => ({ ok: true, details: {} }))
  const port = Number(new URL(url).port)
  await expect(serve(async () => ({ ok: true, details: {} }), port)).rejects.toThrow(
    `cannot serve metrics on 127.0.0.1, port ${String(port)}: another program uses this port; choose another with --metrics-port`,
  )
})
