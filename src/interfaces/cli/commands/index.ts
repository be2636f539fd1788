/** The commands, in the order of the help text. */
import type { CliCommand, CommandGroup } from '../command.js'
import { acp } from './acp.js'
import { append } from './append.js'
import { checkpointCreate } from './checkpoint-create.js'
import { checkpointList } from './checkpoint-list.js'
import { checkpointPublish } from './checkpoint-publish.js'
import { compact } from './compact.js'
import { compactionRun } from './compaction-run.js'
import { context } from './context.js'
import { diff } from './diff.js'
import { evidence } from './evidence.js'
import { evaluate } from './evaluate.js'
import { editionsAdopt } from './editions-adopt.js'
import { editionsCompare } from './editions-compare.js'
import { editionsDrop } from './editions-drop.js'
import { editionsList } from './editions-list.js'
import { editionsRevert } from './editions-revert.js'
import { editionsShow } from './editions-show.js'
import { eraseTexts } from './erase.js'
import { explain } from './explain.js'
import { exportEvents } from './export.js'
import { forgotten } from './forgotten.js'
import { handoff } from './handoff.js'
import { recall } from './recall.js'
import { importFiles } from './import.js'
import { install } from './install.js'
import { list } from './list.js'
import { log } from './log.js'
import { mcp } from './mcp.js'
import { measure } from './measure.js'
import { migrateLog } from './migrate-log.js'
import { page } from './page.js'
import { pin, unpin } from './pin.js'
import { projectionsRebuild } from './projections-rebuild.js'
import { projectionsRun } from './projections-run.js'
import { projectionsStatus } from './projections-status.js'
import { projectionsVectors } from './projections-vectors.js'
import { prompts } from './prompts.js'
import { keysCreate } from './keys-create.js'
import { keysList } from './keys-list.js'
import { keysRevoke } from './keys-revoke.js'
import { keysRotate } from './keys-rotate.js'
import { proxy } from './proxy.js'
import { replay } from './replay.js'
import { retentionHold } from './retention-hold.js'
import { retentionLog } from './retention-log.js'
import { retentionRelease } from './retention-release.js'
import { retentionRun } from './retention-run.js'
import { retentionSet } from './retention-set.js'
import { retentionStatus } from './retention-status.js'
import { rulesAdd } from './rules-add.js'
import { rulesCheck } from './rules-check.js'
import { rulesConfirm, rulesDrop } from './rules-judge.js'
import { rulesList } from './rules-list.js'
import { rulesReview } from './rules-review.js'
import { search } from './search.js'
import { secretsScan } from './secrets-scan.js'
import { serve } from './serve.js'
import { start } from './start.js'
import { stats } from './stats.js'
import { status } from './status.js'
import { stop } from './stop.js'
import { undo } from './undo.js'
import { verify } from './verify.js'

export const commands: readonly CliCommand[] = [
  start,
  importFiles,
  append,
  context,
  diff,
  compact,
  undo,
  log,
  exportEvents,
  search,
  explain,
  forgotten,
  measure,
  recall,
  install,
  handoff,
  stats,
  list,
  verify,
  evidence,
  page,
  serve,
  mcp,
  proxy,
  acp,
  replay,
  evaluate,
  prompts,
  eraseTexts,
  migrateLog,
  pin,
  unpin,
  status,
  stop,
]

export const groups: readonly CommandGroup[] = [
  {
    word: 'projections',
    describe: 'Run, inspect and rebuild the read models',
    commands: [projectionsRun, projectionsStatus, projectionsRebuild, projectionsVectors],
  },
  {
    word: 'editions',
    describe: 'Alternative compactions of the same history',
    commands: [editionsCompare, editionsList, editionsShow, editionsAdopt, editionsRevert, editionsDrop],
  },
  {
    word: 'rules',
    describe: 'Rules that users stated, and the calls that broke them',
    commands: [rulesList, rulesCheck, rulesReview, rulesConfirm, rulesDrop, rulesAdd],
  },
  {
    word: 'keys',
    describe: 'Access keys of the service',
    commands: [keysCreate, keysList, keysRotate, keysRevoke],
  },
  {
    word: 'checkpoint',
    describe: 'Signed checkpoints of the log, for people without access',
    commands: [checkpointCreate, checkpointList, checkpointPublish],
  },
  {
    word: 'retention',
    describe: 'How long conversations are kept, holds, and the erasure of old ones',
    commands: [retentionStatus, retentionSet, retentionHold, retentionRelease, retentionRun, retentionLog],
  },
  { word: 'secrets', describe: 'Secrets in recorded events', commands: [secretsScan] },
  { word: 'compaction', describe: 'Compaction workers', commands: [compactionRun] },
]
