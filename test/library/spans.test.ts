/**
 * Compaction spans for a caller with its own OpenTelemetry SDK. They describe the work, and contain no message text.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { trace } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { openLedger } from '../../src/index.js'
import { SMALL, talk } from '../support/conversations.js'
import { startTestService } from '../support/service.js'

const exporter = new InMemorySpanExporter()

beforeAll(() => {
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
})
afterAll(() => {
  trace.disable()
})

it('a run of compaction and each call to a model have one, without a text in it', async () => {
  const ledger = await openLedger({
    store: 'memory',
    policy: SMALL,
    summarizer: async () => 'the secret summary',
  })
  await ledger.append('spanned', talk(20))
  await ledger.admin.waitForCompaction()
  await ledger.close()
  const spans = exporter.getFinishedSpans()
  const run = spans.find(({ name }) => name === 'compact spanned')
  expect(run?.attributes).toMatchObject({
    'gen_ai.conversation.id': 'spanned',
    'context_ledger.compaction.cycles': expect.any(Number),
  })
  const call = spans.find(({ name }) => name.startsWith('chat '))
  expect(call?.attributes).toMatchObject({ 'gen_ai.operation.name': 'chat' })
  expect(JSON.stringify(spans.map(({ name, attributes }) => [name, attributes]))).not.toMatch(/secret|berth/u)
})

it('a request has one, by its route and its conversation', async () => {
  exporter.reset()
  const at = await startTestService()
  await at.append('asked', talk(1))
  await at.close()
  expect(exporter.getFinishedSpans().find(({ name }) => name === 'POST appendMessages')?.attributes).toMatchObject({
    'http.request.method': 'POST',
    'http.response.status_code': 200,
    'gen_ai.conversation.id': 'asked',
  })
})
