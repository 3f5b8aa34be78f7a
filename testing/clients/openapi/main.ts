// Charges, and keeps an entity, through the clients that openapi-generator makes of the door's own documents.
//
//	PROGRAM CHARGING-URL ENTITIES-URL
//
// It ends with an error at the first answer that is wrong.

import * as charging from './charging';
import * as entities from './entities';

declare const process: { argv: string[]; exitCode?: number };

function expect(isSo: boolean, what: unknown): void {
  if (!isSo) throw new Error(`wrong: ${JSON.stringify(what)}`);
}

async function refused(status: number, code: string, answer: Promise<unknown>): Promise<charging.Problem> {
  try {
    await answer;
  } catch (error) {
    if (!(error instanceof charging.ResponseError)) throw error;
    const told = charging.ProblemFromJSON(await error.response.json());
    expect(error.response.status === status && told.code === code, told);
    return told;
  }
  throw new Error(`not refused: ${status} ${code}`);
}

async function charge(basePath: string): Promise<void> {
  const account = 'typescript/1';
  const settings = new charging.Configuration({ basePath });
  const accounts = new charging.AccountsApi(settings);
  const debits = new charging.DebitsApi(settings);
  const sessions = new charging.SessionsApi(settings);
  const chains = new charging.ChainsApi(settings);

  const creation = { account, accountCreation: { buckets: [{ bucket: 'main', unit: 'cent', amount: 1000 }] } };
  await accounts.createAccount(creation);
  await refused(409, 'ACCOUNT_EXISTS', accounts.createAccount(creation));

  const debit = { account, idempotencyKey: 'd-1', debit: { unit: 'cent', amount: 30 } };
  expect(!(await debits.debit(debit)).replayed, 'the first');
  const again = await debits.debit(debit);
  expect(again.replayed && again.amount === 30, again);
  const much = { account, idempotencyKey: 'd-2', debit: { unit: 'cent', amount: '5000' } };
  const told = await refused(402, 'CREDIT_LIMIT_REACHED', debits.debit(much));
  expect(told.cause === 'balance', told);

  const item = { key: 1, unit: 'cent', requested: 100 };
  const session = 's';
  const opened = await sessions.createSession({ account, session, sessionOpening: { request: 0, items: [item] } });
  expect(opened.items[0].granted === 100, opened);
  const use = { key: 1, unit: 'cent', used: 60, requested: 50 };
  await sessions.updateSession({ account, session, sessionUpdate: { request: 1, items: [use] } });
  const end = { key: 1, unit: 'cent', used: 10 };
  await sessions.terminateSession({ account, session, sessionEnd: { request: 2, items: [end] } });

  const command: charging.ChainedCommand = { operation: 'reserve', account, session: 't', request: 0, items: [item] };
  const answer = await chains.chain({ chain: { commands: [command] } });
  expect(answer.answers[0].code === 'OK', answer);

  const bucket = (await accounts.getAccount({ account })).buckets[0];
  expect(bucket.available === 800 && bucket.held === 100, bucket);
  expect((await accounts.getStatement({ account })).entries.length > 0, 'entries');
}

async function keep(basePath: string): Promise<void> {
  const client = new entities.EntitiesApi(new entities.Configuration({ basePath }));
  await client.putEntity({ id: 'typescript', body: new Blob(['blue']) });
  const value = await (await client.getEntity({ id: 'typescript' })).text();
  expect(value === 'blue', value);
  await client.deleteEntity({ id: 'typescript' });
  expect((await client.getEntityStatus()).ready, 'it is ready');
}

async function main(): Promise<void> {
  await charge(process.argv[2]);
  await keep(process.argv[3]);
  console.log('all right');
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
