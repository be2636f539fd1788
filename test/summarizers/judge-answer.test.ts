import { describe, expect, test } from '@jest/globals'
import { isBareRefusal, whyNoSummary } from '../../src/application/summarizers/judge-answer.js'
import { chunkJob, resummarizeJob, sourceMessage, summaryOf } from '../support/summary-jobs.js'

const chinese = chunkJob({
  messages: [
    sourceMessage('user', '请把账单服务迁移到新的数据库，绝对不要动审计表。'),
    sourceMessage('assistant', '好的，我先检查存储模块，然后运行所有测试。'),
  ],
})

describe('a refusal is no summary', () => {
  test.each([
    "I'm sorry, but I can't help with that.",
    'I’m sorry, but I can’t assist with that request.',
    'Sorry, I cannot summarize this conversation as it contains sensitive content.',
    'I apologize, but I am unable to provide a summary of this text.',
    'Unfortunately, I cannot comply with this request. Please provide something else.',
    'As an AI language model, I cannot process this.',
    'Es tut mir leid, aber ich kann dabei nicht helfen.',
    'Je suis désolé, mais je ne peux pas vous aider.',
    'Lo siento, pero no puedo ayudar con eso.',
    'Mi dispiace, ma non posso aiutarti.',
    'Извините, но я не могу помочь с этим.',
    '很抱歉，我无法协助处理该请求。',
    '申し訳ありませんが、そのリクエストにはお応えできません。',
    '죄송하지만 해당 요청은 도와드릴 수 없습니다.',
  ])('%s', (answer) => {
    for (const job of [chunkJob(), resummarizeJob(), chinese]) expect(whyNoSummary(answer, job)).toMatch(/refuses/u)
  })

  test('a summary that reports a refusal passes', () => {
    for (const answer of [
      "The user wants Postgres 16. The assistant said: I'm sorry, but I can't touch audit_log.",
      "I'm sorry, but I can't repeat one passage. The billing service moves to Postgres 16.",
    ])
      expect(whyNoSummary(answer, chunkJob())).toBeUndefined()
    expect(isBareRefusal("I can't help with that. The billing service moves.")).toBe(false)
  })
})

describe('an answer that is about something else is no summary', () => {
  test.each(['The harbour was closed on Monday.', 'OK', '我们去公园看花，晚上吃火锅。', '...'])('%s', (answer) =>
    expect(whyNoSummary(answer, chunkJob())).toMatch(/shares no name, number or word/u),
  )

  test.each([
    ['a stem', 'The services were moved.'],
    ['a number', 'Nothing but 42.'],
    ['a path', 'src/billing/store.ts'],
    ['another language with a name', '用户要求迁移到 Postgres，审计人员读取 audit_log。'],
  ])('one with %s passes', (_what, answer) => expect(whyNoSummary(answer, chunkJob())).toBeUndefined())

  test('Chinese is compared by pairs of characters', () => {
    expect(whyNoSummary('用户要求迁移账单服务。', chinese)).toBeUndefined()
    expect(whyNoSummary('今晚一起吃火锅吧。', chinese)).toBeDefined()
  })

  test('summaries are compared with their sources', () => {
    const job = resummarizeJob({
      summaries: [
        summaryOf('The ferry needs berth seven near the old crane until the storm ends.'),
        summaryOf('Marit pays.'),
      ],
    })
    expect(whyNoSummary('A crane blocks the ferry.', job)).toBeUndefined()
    expect(whyNoSummary('Nothing happened in Lisbon.', job)).toBeDefined()
  })

  test('with hardly any words to compare, everything passes', () =>
    expect(
      whyNoSummary('They greeted each other.', chunkJob({ messages: [sourceMessage('user', 'Moin!')] })),
    ).toBeUndefined())
})
