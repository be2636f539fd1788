/** The log of a service: one line for each request, without content. */
import { expect, it, jest } from '@jest/globals'
import { requestLog } from '../../src/interfaces/cli/request-log.js'
import type { AnsweredRequest } from '../../src/interfaces/service/requests.js'
import { startTestService } from '../support/service.js'

it('has one record for each request, with its failure, and no text or id of a conversation', async () => {
  const answered: AnsweredRequest[] = []
  const at = await startTestService({ onAnswer: (request) => void answered.push(request) })
  await at.append('chat-secret', [{ role: 'user', content: 'the words' }])
  await at.ask('/v1/conversations/chat-absent/context')
  await at.ask('/no-such-address')
  await at.close()
  expect(answered.map(({ status, kind }) => [status, kind])).toEqual([
    [200, undefined],
    [404, 'NoSuchConversation'],
    [404, 'NoSuchRoute'],
  ])
  const [first] = answered
  expect(first).toMatchObject({ method: 'POST', route: 'appendMessages', requestId: expect.any(String) })
  expect(JSON.stringify(answered)).not.toMatch(/secret|absent|words/u)
})

it('is text, JSON, or problems alone', () => {
  const lines: string[] = []
  const write = jest.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(String(line)) > 0)
  try {
    const request = { at: '2026-01-01T00:00:00.000Z', method: 'GET', route: 'getContext', status: 404, requestId: 'r1' }
    const record = { ...request, milliseconds: 1.25, kind: 'NoSuchConversation' }
    requestLog('text').onAnswer?.(record)
    requestLog('json').onAnswer?.(record)
    requestLog('json').onProblem(new Error('lost'), 'r2')
    expect(requestLog('errors').onAnswer).toBeUndefined()
  } finally {
    write.mockRestore()
  }
  expect(lines[0]).toMatch(/^2026-01-01T00:00:00\.000Z 404 GET getContext 1\.\d ms NoSuchConversation request r1\n$/u)
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({ status: 404, kind: 'NoSuchConversation', requestId: 'r1' })
  expect(JSON.parse(lines[2] ?? '')).toMatchObject({ problem: 'Bug', message: 'lost', requestId: 'r2' })
})
