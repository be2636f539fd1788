/** Sessions of Copilot Chat in VS Code: with rounds and a summary, and as a log of changes with what the chat showed. */
import { counted, lines, type Raw, type WrittenTranscript } from './written.js'

const round = (id: string, response: string, toolCalls: readonly Raw[] = []): Raw => ({
  id,
  response,
  toolCalls,
  toolInputRetry: 0,
})
const rounds: readonly Raw[] = [
  round('r1', 'I search.', [
    { id: 'call_1', name: 'grep_search', arguments: '{"query":"mast"}' },
    { id: 'call_2', name: 'read_file', arguments: '{"path":"mast.md"}' },
  ]),
  round('r2', 'The mast is of pine.'),
]
const request = (requestId: string, text: string, more: Raw): Raw => ({
  requestId,
  message: { text, parts: [] },
  response: [],
  timestamp: 1_790_000_000_000,
  modelId: 'copilot/model-x',
  ...more,
})
const requests: readonly Raw[] = [
  request('q1', 'Find the mast.', {
    result: {
      metadata: {
        toolCallRounds: rounds,
        toolCallResults: {
          call_1: { content: [{ value: 'mast.md:1' }] },
          call_2: { content: [{ value: { node: { type: 1, children: [{ type: 2, text: 'pine' }] } } }] },
        },
        promptTokens: 800,
        outputTokens: 40,
        resolvedModel: 'model-x',
      },
    },
  }),
  request('q2', 'Saw it off.', {
    result: {
      metadata: {
        toolCallRounds: [round('r3', 'Done.')],
        summary: { toolCallRoundId: 'r2', text: 'A mast of pine was found.' },
      },
    },
  }),
  request('q3', 'And now?', {}),
]
const firstRequest: Raw = request('q1', 'Is there a boom?', {
  response: [
    { kind: 'thinking', value: 'A look.' },
    {
      kind: 'toolInvocationSerialized',
      toolCallId: 'call_3',
      toolId: 'copilot_listDir',
      pastTenseMessage: 'Listed the deck',
    },
    { value: 'There is a ' },
    { kind: 'inlineReference', inlineReference: { fsPath: '/srv/quay/spars/boom.md', scheme: 'file' } },
    { value: ' about the boom.' },
  ],
})

export const vscodeCopilot: readonly WrittenTranscript[] = [
  {
    program: 'vscode-copilot',
    files: {
      'vscode/workspaceStorage/0a/chatSessions/7f01.json': JSON.stringify({
        version: 3,
        responderUsername: 'GitHub Copilot',
        sessionId: '7f01',
        creationDate: 1_790_000_000_000,
        customTitle: 'Mast',
        requests,
      }),
    },
    counts: [
      counted({
        sourceId: '7f01',
        messages: {
          user: requests.length,
          assistant: JSON.stringify(requests).split('"toolInputRetry"').length - 1,
          tool: 2,
        },
        calls: JSON.stringify(requests).split('"arguments"').length - 1,
        results: 2,
        compactions: JSON.stringify(requests).split('"summary"').length - 1,
      }),
    ],
    leftOut: { 'unfinished answer': 1 },
    context: { has: ['A mast of pine was found.', 'Saw it off.', 'Done.', 'And now?'], lacks: ['Find the mast'] },
  },
  {
    program: 'vscode-copilot',
    files: {
      'vscode/workspaceStorage/0a/chatSessions/7f02.jsonl': lines([
        { kind: 0, v: { version: 3, sessionId: '7f02', creationDate: 1_790_000_000_000, requests: [] } },
        { kind: 2, k: ['requests'], v: [{ ...firstRequest, response: [{ value: 'Th' }] }] },
        { kind: 1, k: ['customTitle'], v: 'Boom' },
        { kind: 2, k: ['requests', 0, 'response'], v: firstRequest['response'], i: 0 },
        { kind: 1, k: ['requests', 0, 'result'], v: { timings: { totalElapsed: 5 } } },
        { kind: 3, k: ['inputState'] },
      ]),
    },
    counts: [counted({ sourceId: '7f02', messages: { user: 1, assistant: 2, tool: 1 }, calls: 1, results: 1 })],
    leftOut: {},
    context: { has: ['Is there a boom?', 'A look.', 'Listed the deck', 'There is a spars/boom.md about'] },
  },
]
