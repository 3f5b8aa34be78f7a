package scurry.lab;

import java.util.concurrent.CompletionStage;

/** Accounts, by a system's own client: a command goes to where the account is. */
interface Store {
    CompletionStage<byte[]> call(String account, Command command);
}
