// What the laboratory runs of MySQL NDB beside its data nodes.
//
// `manage PORT FIRST NODES COPIES DURABILITY` becomes the management server of so many data nodes, whose ports
// follow FIRST. `serve PORT MANAGER DURABILITY` is the client: it waits until the data nodes are there, and
// then answers the lab.

#include "gateway.hpp"

#include <NdbApi.hpp>
#include <ndb_version.h>

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace {

// Node numbers: the data nodes have 1 and those behind.
constexpr int manager_node = 50;
constexpr int client_node = 60;
constexpr int start_seconds = 50;
// From the port of a data node to that of the next one.
constexpr int ports_of_node = 3;

std::uint16_t port_of(const char *word) {
    std::uint32_t value = 0;
    if (!lab::number(word, value) || value == 0 || value > 65'535) {
        throw std::runtime_error(std::string("no port: ") + word);
    }
    return static_cast<std::uint16_t>(value);
}

// What the data nodes are told. One core each means one thread for everything, as the manual advises for
// such a machine (NumCPUs), so that no request is passed between threads of one core.
void write_config(const char *file, int port, int first, int nodes, int copies, bool keeps) {
    std::ofstream out(file);
    out << "[ndbd default]\n"
        << "NoOfReplicas=" << copies << "\n"
        << "DataDir=.\n"
        << "DataMemory=2G\n"
        << "DiskPageBufferMemory=4M\n"
        << "SharedGlobalMemory=20M\n"
        << "AutomaticThreadConfig=true\n"
        << "NumCPUs=1\n"
        << "MaxNoOfConcurrentOperations=65536\n"
        << "Diskless=" << (keeps ? "false" : "true") << "\n"
        << "[mgm]\nHostName=127.0.0.1\nNodeId=" << manager_node << "\nPortNumber=" << port << "\nDataDir=.\n";
    for (int node = 1; node <= nodes; node++) {
        out << "[ndbd]\nHostName=127.0.0.1\nNodeId=" << node << "\nServerPort=" << first + ports_of_node * (node - 1) << "\n";
    }
    out << "[api]\nHostName=127.0.0.1\nNodeId=" << client_node << "\n";
    out.close();
    if (!out) {
        throw std::runtime_error("the configuration was not written");
    }
}

[[noreturn]] void manage(char **words) {
    const bool keeps = std::string_view(words[6]) == "checkpoint";
    write_config("config.ini", port_of(words[2]), port_of(words[3]), std::stoi(words[4]), std::stoi(words[5]),
                 keeps);
    const auto server = std::filesystem::read_symlink("/proc/self/exe").replace_filename("ndb_mgmd").string();
    execl(server.c_str(), server.c_str(), "--no-defaults", "--nodaemon", "--config-file=config.ini",
          "--config-cache=0", "--bind-address=127.0.0.1", nullptr);
    throw std::system_error(errno, std::generic_category(), server);
}

[[noreturn]] void serve(char **words) {
    const std::string manager = std::string("127.0.0.1:") + words[3];
    ndb_init();
    Ndb_cluster_connection cluster(manager.c_str(), client_node);
    cluster.set_name("scurry-lab");
    if (cluster.connect(start_seconds, 1, 0) != 0) {
        throw std::runtime_error("no management server: " + std::string(cluster.get_latest_error_msg()));
    }
    if (cluster.wait_until_ready(start_seconds, 0) < 0) {
        throw std::runtime_error("no data node has started");
    }
    lab::Store store(cluster);
    // "ndb-9.7.2" in full.
    const std::string version = std::string(NDB_NDB_VERSION_STRING).substr(sizeof "ndb-" - 1);
    const std::string info = std::string("ndb_version:") + version + "\r\ndurability:" +
        words[4] + "\r\n";
    lab::Gateway(store, port_of(words[2]), info).serve();
}

} // namespace

int main(int count, char **words) {
    try {
        const std::string_view mode = count > 1 ? words[1] : "";
        if (mode == "manage" && count == 7) {
            manage(words);
        }
        if (mode == "serve" && count == 5) {
            serve(words);
        }
        throw std::runtime_error("say manage PORT FIRST NODES COPIES DURABILITY, or serve PORT MANAGER DURABILITY");
    } catch (const std::exception &error) {
        std::cerr << "scurry-ndb: " << error.what() << std::endl;
        return 1;
    }
}
