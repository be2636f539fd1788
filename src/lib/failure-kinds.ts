/**
 * Every kind of failure, with its fault and, if it differs from the one of the fault, its HTTP status. The exit status
 * of a command, the answer of the service, the page and MCP derive from this list.
 */

/**
 * `input`: the request is invalid; `state`: the request conflicts with the recorded state; `world`: a store or model is
 * unavailable; `data`: the log cannot be read or trusted.
 */
export type Fault = 'input' | 'state' | 'world' | 'data'

const STATUS_OF_FAULT: Readonly<Record<Fault, number>> = { input: 400, state: 409, world: 503, data: 500 }

const KINDS = {
  // Commands, messages and policies
  BadId: 'input',
  BadInput: 'input',
  BadMessage: 'input',
  BadPolicy: 'input',
  BatchesNotActive: 'state',
  ConversationMoved: 'world',
  CutInsideCallGroup: 'state',
  LeadingTooLarge: 'state',
  MessageIdTaken: ['input', 409],
  MessageNotLive: 'state',
  MessagePinned: 'state',
  NotArchivedYet: 'state',
  NotAtHead: 'state',
  NotConfigured: 'state',
  NotObserved: 'state',
  NotRecordable: 'input',
  PartlyRecorded: ['input', 409],
  PinTooLarge: 'input',
  PinnedMessageCompacted: 'state',
  PinnedTooLarge: 'state',
  ScopeChanged: ['input', 409],
  ToolResultWithoutCall: ['input', 409],
  UndoPassesHardLimit: 'state',
  WithdrawnMessageCompacted: 'state',

  // Names that do not exist
  CycleNotRecorded: ['input', 404],
  NoSuchBatch: ['input', 404],
  NoSuchConversation: ['input', 404],
  NoSuchCycle: ['input', 404],
  NoSuchEdition: ['input', 404],
  NoSuchKey: ['input', 404],
  NoSuchLine: ['input', 404],
  NoSuchMessage: ['input', 404],
  NoSuchProgram: ['input', 404],
  NoSuchProjection: ['input', 404],
  NoSuchPrompt: ['input', 404],
  NoSuchRevision: ['input', 404],
  NoSuchRule: ['input', 404],

  // The past
  AfterNow: 'input',
  BeforeFirstEvent: 'input',
  CycleOfEdition: 'state',
  EndsBeforeItStarts: 'input',
  SeveralBatches: 'input',
  SeveralConversations: 'input',

  // Compaction and models
  ContextObserved: 'state',
  EmbeddingFailed: 'world',
  EstimatorFailed: 'input',
  EstimatorNotRegistered: 'data',
  HistoryDiverged: 'state',
  ModelUnavailable: 'world',
  ModelUnusable: 'input',
  NotSaid: 'input',
  ReviewFailed: 'world',
  SummarizerFailed: 'world',
  UnknownModelWindow: 'input',

  // Editions
  CandidateBusy: 'world',
  CandidateHasNoRoom: 'world',
  CandidateNotTried: 'world',
  EditionBusy: 'world',
  EditionInForce: 'state',
  EditionIsDropped: 'state',
  EditionNotInForce: 'state',
  EditionOfAnother: 'input',
  EditionUnfinished: 'world',
  NoEditionInForce: 'state',

  // Imports
  NotOfProgram: 'input',
  TranscriptsContradict: 'input',
  UnknownTranscript: 'input',

  // Handoffs
  BudgetTooSmall: 'input',
  NoProgram: 'state',
  NoProgramDirectory: 'input',
  NoSessionWriter: ['input', 404],
  NotWithdrawn: ['input', 404],
  NothingToHandOver: 'state',

  // Opening and writing a ledger
  AppendRefused: 'input',
  DiskFull: 'world',
  /** Another process has the directory open. */
  FolderLocked: 'world',
  /** Another process has taken over the directory, because this process was unresponsive for too long. */
  FolderTaken: 'world',
  /** The path is not a directory, or is not writable. */
  FolderUnusable: 'world',
  IdsRecorded: ['input', 409],
  LedgerBeingWritten: ['world', 409],
  LedgerClosed: ['input', 503],
  LedgerReadOnly: ['input', 409],
  /** A later version of this program wrote it. */
  NewerSchema: 'world',
  /** The directory contains other files. Nothing in it was changed. */
  NotALedger: 'world',
  RevisionConflict: 'world',
  RevisionNotExpected: ['state', 412],
  /** The address is invalid, or the server rejects the credentials. Retrying does not help. */
  StoreRefused: 'world',
  /** The database refuses a statement, for example because a value does not fit or a table is missing. */
  StatementRefused: 'data',
  /** Closed, unreachable, or no answer in time. */
  StoreUnavailable: 'world',
  UnreadableEvent: 'data',
  UnreadableLog: 'data',

  // Read models
  /** Postgres would refuse a cell, or store it differently. */
  CellRefused: 'data',
  /** Another process has taken over the read models. */
  Fenced: 'world',
  ProjectionStopped: 'data',
  ProjectionsBehind: 'world',
  RebuildFailed: 'world',
  /** A rebuild reached an event that cannot be applied. */
  RebuildStopped: 'data',

  // Files: logs, manifests and keys
  /** The key is missing or is not an Ed25519 key. */
  BadKey: 'input',
  /** The body of an event is missing or differs. */
  BodyLost: 'data',
  /** The file differs from what was written; the message names the line. */
  DamagedFile: 'data',
  FileExists: 'input',
  /** A checkpoint was changed after it was signed. */
  CheckpointChanged: 'data',
  /** The file cannot be opened, read or written. */
  FileUnusable: 'input',
  /** The file was changed after it was signed. */
  ManifestChanged: 'data',
  /** The text is not a checkpoint. */
  /** Evidence would be a readable copy of texts that `erase` could not erase. */
  EvidenceOfErasable: 'state',
  NoCheckpoint: 'input',
  NoSuchCheckpoint: ['input', 404],
  /** The file is not a log file, or a later version of this program wrote it. */
  NoLogFile: 'input',
  /** The file is not a manifest, or is one of a later version. */
  NoManifest: 'input',
  /** The signature is valid, but not of the expected signer. */
  OtherSigner: 'data',
  /** Another process wrote to the target during the copy. */
  TargetChanged: 'world',
  /** The target contains another log. */
  TargetDiffers: 'state',
  /** The target can never store these events. */
  TargetRefuses: 'input',
  TargetUnavailable: 'world',
  /** The log differs from the Merkle tree of its last checkpoint. */
  TreeDamaged: 'data',
  /** Writing began and failed, for example because the disk is full. */
  WriteFailed: 'world',

  // Erasure
  /** The whole conversation was erased. */
  ConversationErased: ['state', 410],
  /** An erasure has begun and is not completed. */
  ErasurePending: 'world',
  /** The person's data was erased; nothing about this person is recorded any more. */
  SubjectErased: ['state', 410],
  /** The ledger was not created as erasable. */
  NotErasable: 'state',

  // Retention
  /** A hold stops the erasure. */
  OnHold: 'state',
  /** A message is younger than a retention rule allows to erase without a legal basis. */
  TooYoung: 'state',
  /** A retention run does not erase the conversation: no rule requires it now. */
  NotDue: 'state',
  /** There is no such hold, or it was released. */
  NoSuchHold: ['input', 404],
  /** Another process runs a retention run. */
  RetentionBusy: 'world',

  // Keys of an erasable ledger
  /** The key was destroyed by an erasure. It is never created again. */
  KeyDestroyed: 'state',
  /** The vault never had the key: another vault, or a key that was lost. */
  KeyUnknown: 'world',
  /** The vault rejects the credentials, or a permission is missing. */
  KeyVaultDenied: 'world',
  /** The vault did not answer, or asks for fewer requests. */
  KeyVaultUnavailable: 'world',
  /** A wrapped key does not belong to its key, or was changed. */
  WrappedKeyDamaged: 'data',

  // Requests to the service
  BadRequest: 'input',
  BodyCutOff: 'input',
  BodyTooLarge: ['input', 413],
  BodyTooSlow: ['input', 408],
  DoubledKey: 'input',
  IdempotencyKeyReused: 'state',
  JobEnded: 'state',
  KeyBound: ['input', 403],
  KeyMissing: ['input', 401],
  KeyRefused: ['input', 401],
  MalformedJson: 'input',
  MethodNotAllowed: ['input', 405],
  NoSuchJob: ['input', 404],
  NoSuchRoute: ['input', 404],
  NotUtf8: 'input',
  NumberTooLarge: 'input',
  RoleMissing: ['input', 403],
  ShuttingDown: 'world',
  TooBusy: 'world',
  TooDeep: 'input',
  TooManyJobs: 'world',
  TooManyRequests: ['world', 429],
  TooManyStreams: 'world',
  TooManyValues: ['input', 413],
  TookTooLong: 'world',
  WrongContentType: ['input', 415],
  WrongHost: ['input', 421],
  OtherSite: ['input', 403],

  // Answers of a service, as its client sees them
  /** The service has an internal error. */
  Bug: ['world', 500],
  JobCancelled: 'state',
  JobLost: 'world',
  NotAService: 'world',
  ServiceUnreachable: 'world',
  /** A kind of a later version; `details.kind` names it. */
  UnknownKind: 'input',

  // The command line
  BadCertificate: 'input',
  BadConfig: 'input',
  BadPepper: 'input',
  MalformedInput: 'input',
  NoKeys: 'input',
  NoLedger: 'input',
  NoPepper: 'input',
  NoTls: 'input',
  /** Standard output cannot be written. */
  OutputFailed: 'world',
  PortUnusable: 'input',
  Usage: 'input',
} as const satisfies Record<string, Fault | readonly [Fault, number]>

/** Name of a kind of failure. */
export type FailureKind = keyof typeof KINDS

/** Whether it is the name of a kind. */
export const isFailureKind = (name: string): name is FailureKind => Object.hasOwn(KINDS, name)

/** Who or what has to change. */
export function faultOfKind(kind: FailureKind): Fault {
  const entry: Fault | readonly [Fault, number] = KINDS[kind]
  return typeof entry === 'string' ? entry : entry[0]
}

/** HTTP status with which a service answers. */
export function statusOfKind(kind: FailureKind): number {
  const entry: Fault | readonly [Fault, number] = KINDS[kind]
  return typeof entry === 'string' ? STATUS_OF_FAULT[entry] : entry[1]
}
